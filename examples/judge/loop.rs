// A side of `enginescope judge --jsonl`: rustc -O loop.rs
use std::hint::black_box;
use std::io::stdin;
use std::time::{Duration, Instant};

fn work(n: u32) -> f64 {
    (1..n).map(|i| 1.0 / f64::from(i)).sum()
}

fn main() {
    let size: u32 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(20_000);
    let mut line = String::new();
    stdin().read_line(&mut line).unwrap(); // {"type": "measure", "round": 0, "seconds": 0.5}
    let seconds: f64 = line
        .split("\"seconds\":")
        .nth(1)
        .and_then(|rest| rest.trim().trim_end_matches('}').trim().parse().ok())
        .unwrap_or(0.5);
    black_box(work(black_box(size))); // warm up
    let mut times: Vec<String> = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs_f64(seconds) {
        let start = Instant::now();
        black_box(work(black_box(size)));
        times.push(format!("{:.4}", start.elapsed().as_secs_f64() * 1e6));
    }
    println!("{{\"type\": \"samples\", \"unit\": \"us\", \"values\": [{}]}}", times.join(","));
}
