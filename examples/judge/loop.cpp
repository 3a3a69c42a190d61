// A side of `enginescope judge --jsonl`: c++ -O2 -std=c++17 loop.cpp -o loop
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

static double work(int n) {
    double sum = 0;
    for (int i = 1; i < n; ++i) sum += 1.0 / i;
    return sum;
}

int main(int count, char **words) {
    using clock = std::chrono::steady_clock;
    const int size = count > 1 ? std::atoi(words[1]) : 20000;
    std::string line;
    std::getline(std::cin, line);  // {"type": "measure", "round": 0, "seconds": 0.5}
    const char *seconds = std::strstr(line.c_str(), "\"seconds\":");
    const double limit = seconds ? std::atof(seconds + 10) : 0.5;
    volatile double kept = work(size);  // warm up
    std::vector<double> times;
    const auto begin = clock::now();
    while (std::chrono::duration<double>(clock::now() - begin).count() < limit) {
        const auto start = clock::now();
        kept = work(size);
        times.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
    }
    std::printf("{\"type\": \"samples\", \"unit\": \"us\", \"values\": [");
    for (size_t i = 0; i < times.size(); ++i) std::printf("%s%.4f", i ? "," : "", times[i]);
    std::printf("]}\n");
    return kept > 0 ? 0 : 1;
}
