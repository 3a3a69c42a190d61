  // Isotonic regression by pooling adjacent violators: a line that only rises, linear between points.
  class Rising {
    constructor(points) {
      this.points = [];
      for (const [x, y] of points.sort((one, other) => one[0] - other[0] || one[1] - other[1])) {
        let block = { x, y, n: 1 };
        for (let last; (last = this.points.at(-1)) && (last.y >= block.y - 1 || last.x >= block.x - 1); ) {
          this.points.pop();
          const n = last.n + block.n;
          block = { x: (last.x * last.n + block.x * block.n) / n, y: (last.y * last.n + block.y * block.n) / n, n };
        }
        this.points.push(block);
      }
    }

    to(value) { return this.through(value, "x", "y"); }

    from(value) { return this.through(value, "y", "x"); }

    through(value, from, to) {
      const { points } = this, last = points.length - 1;
      if (last < 0) return value;
      if (value <= points[0][from]) return points[0][to] + value - points[0][from];
      if (value >= points[last][from]) return points[last][to] + value - points[last][from];
      let low = 0, high = last;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (points[middle][from] <= value) low = middle; else high = middle;
      }
      const part = (value - points[low][from]) / (points[high][from] - points[low][from]);
      return points[low][to] + part * (points[high][to] - points[low][to]);
    }
  }
