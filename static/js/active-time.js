/* Active time: whole seconds during which this page was visible, had the focus, and was used within the last minute.
   Each save takes the seconds collected since the last one; a failed save returns them.

   touchstone.active.take() -> seconds;  touchstone.active.giveBack(seconds) */
(() => {
  "use strict";
  const IDLE_AFTER = 60_000; // ms without input
  const ts = (window.touchstone = window.touchstone || {});
  let seconds = 0;
  let lastInput = Date.now();

  for (const type of ["keydown", "pointerdown", "pointermove", "wheel", "scroll", "input"]) {
    document.addEventListener(type, () => (lastInput = Date.now()), { passive: true, capture: true });
  }

  setInterval(() => {
    if (document.hasFocus() && !document.hidden && Date.now() - lastInput < IDLE_AFTER) seconds += 1;
  }, 1000);

  ts.active = {
    take() {
      const taken = seconds;
      seconds = 0;
      return taken;
    },
    giveBack(taken) {
      seconds += taken;
    },
  };
})();
