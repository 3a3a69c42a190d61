  // One of two graphs side by side. It shares camera, selection and filter with the other.
  class Side extends View {
    furnish() {
      this.panel = { empty() {}, show() {} };
      this.controls = { legend: () => this.pair.legend(), show() {}, said() {}, matches: () => null };
      Object.assign(this.state, { mode: this.pair.isTimed ? "change" : "precision", folding: this.pair.folding(this.plan), open: new Set() });
    }

    read() { return false; }

    keep() {}

    // Ring the boxes of the selected pair; dim the boxes that the filter leaves out.
    remark() {
      const { pair, plan, scene } = this, of = (rows) => new Set(rows.flatMap((row) => plan.nodesOf.get(row) ?? []).map((node) => scene.boxOf[node]));
      const picked = pair.rows && of([...pair.rows]), found = pair.row === null ? null : of([pair.row]);
      this.marks = { selected: this.selectedBox(), found: found?.size > 1 ? found : null, isDimmed: picked && ((box) => !picked.has(box)) };
      this.redraw();
    }

    rebuild(isFit) {
      super.rebuild(false);
      this.pair.rebuilt(isFit);
    }

    paint() {
      super.paint();
      if (this.camera !== this.synced && !this.isLed) { this.synced = this.camera; this.pair.follow(this); }
      this.pair.redraw();
    }

    pan(dx, dy) { this.pair.lead(this); super.pan(dx, dy); }

    zoom(...how) { this.pair.lead(this); super.zoom(...how); }

    fit() { this.pair.fit(false); }

    bounded(scale) {
      const other = this.pair.other(this);
      return Math.min(super.bounded(scale), other?.scene ? View.prototype.bounded.call(other, scale) : MOST_SCALE);
    }

    showSelected() { if (this.selectedBox() < 0) this.state.selected = null; }

    key(event) {
      const isWide = event.key === "Escape" && this.pair.box.classList.contains("wide");
      if (isWide) widen(this.pair);
      else if (event.key === "/") { event.preventDefault(); document.querySelector('#pairs input[type="search"]').focus(); }
      else super.key(event);
    }

    // Select a layer's pair in both graphs and in the list; a box without a pair, in this graph only.
    select(box, isShown) {
      const id = box < 0 ? null : this.scene.ids[box], row = id === null || id < 0 ? -1 : this.plan.pairs[id];
      this.state.selected = id;
      if (isShown && box >= 0 && row < 0) { this.pair.lead(this); this.bring(box); }
      this.pair.pick(row < 0 ? null : row, isShown && row >= 0 ? null : this, box < 0 ? "" : spoken(this.scene, box));
    }
  }
