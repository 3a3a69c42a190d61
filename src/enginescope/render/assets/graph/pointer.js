  // Mouse, pen and touch: drag, wheel, pinch, select, unfold, hover.
  class Pointer {
    constructor(view) {
      this.view = view;
      this.down = new Map();
      const { canvas } = view, on = (name, act, more) => canvas.addEventListener(name, (event) => act.call(this, event), more);
      on("pointerdown", this.press);
      on("pointermove", this.move);
      on("pointerup", this.release);
      on("pointercancel", this.release);
      on("pointerleave", this.leave);
      on("dblclick", this.twice);
      on("wheel", this.wheel, { passive: false });
      const map = view.part("map");
      const go = (event) => {
        if (!event.buttons) return;
        const box = map.getBoundingClientRect(), [x, y] = view.map.world(event.clientX - box.left, event.clientY - box.top);
        view.look_at(x, y, view.camera.scale, true);
      };
      map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); });
      map.addEventListener("pointermove", go);
    }

    place(event) {
      const box = this.view.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    press(event) {
      this.view.canvas.focus({ preventScroll: true });
      this.view.canvas.setPointerCapture(event.pointerId);
      this.down.set(event.pointerId, this.place(event));
      this.moved = this.down.size > 1;
      this.start = this.place(event);
      pageTip(event, null);
    }

    move(event) {
      const old = this.down.get(event.pointerId), now = this.place(event);
      if (!old) { this.point(event, now); return; }
      if (this.down.size === 1) {
        if (!this.moved && Math.hypot(now[0] - this.start[0], now[1] - this.start[1]) < 4) return;
        this.moved = true;
        this.view.canvas.classList.add("held");
        this.view.pan(now[0] - old[0], now[1] - old[1]);
      } else this.pinch(event.pointerId, now);
      this.down.set(event.pointerId, now);
    }

    pinch(id, now) {
      const [, other] = [...this.down].find(([one]) => one !== id), old = this.down.get(id);
      const before = Math.hypot(old[0] - other[0], old[1] - other[1]), after = Math.hypot(now[0] - other[0], now[1] - other[1]);
      this.view.pan((now[0] - old[0]) / 2, (now[1] - old[1]) / 2);
      if (before > 10) this.view.zoom(after / before, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }

    release(event) {
      const was = this.down.delete(event.pointerId);
      this.view.canvas.classList.remove("held");
      if (!was || this.moved || event.type === "pointercancel" || event.button > 0) return;
      const { view } = this, [x, y] = view.world(...this.place(event)), box = view.grid.boxAt(x, y);
      if (box >= 0) { view.select(box); return; }
      const frame = view.scene.frames[view.grid.frameAt(x, y)];
      // A click on the title of an open group folds it.
      if (frame && y < frame.y - frame.h / 2 + HEAD) view.toggle(frame.group); else view.select(-1);
    }

    twice(event) {
      const { view } = this, box = view.grid.boxAt(...view.world(...this.place(event)));
      if (box >= 0 && view.scene.ids[box] < 0) view.toggle(-1 - view.scene.ids[box]);
    }

    // The wheel scrolls the page until the graph has the focus; then it zooms.
    wheel(event) {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== this.view.canvas) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
      const turn = Math.max(-120, Math.min(120, event.deltaY * lines));
      this.view.zoom(Math.exp(-turn * (event.ctrlKey ? 0.01 : 0.0022)), ...this.place(event));
    }

    point(event, [px, py]) {
      const { view } = this;
      if (event.pointerType === "touch" || !view.grid) return;
      const box = view.grid.boxAt(...view.world(px, py));
      view.canvas.style.cursor = box >= 0 ? "pointer" : "";
      pageTip(event, box < 0 ? null : tipOf(view.scene, box));
    }

    leave(event) { if (!this.down.size) pageTip(event, null); }
  }
