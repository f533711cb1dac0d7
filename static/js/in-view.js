/* Which parts of a work screen have been in view: nothing that was out of view is ever answered by a key for several.

   [data-look] marks the text that has to be read in a [data-record]. touchstone.inView.has("stance:ab12") looks again and
   says whether it has been in view since the page was opened: most of what is shown of it, or as much as fits, between
   what is pinned above and below. */
(() => {
  "use strict";
  const ts = window.touchstone;
  const seen = new Set(); // records

  function look() {
    const top = ts.rows.ceiling();
    for (const text of document.querySelectorAll("[data-record] [data-look]")) {
      const { record } = text.closest("[data-record]").dataset;
      if (seen.has(record)) continue;
      const bottom = ts.rows.floor(text);
      const box = text.getBoundingClientRect();
      const visible = Math.min(box.bottom, bottom) - Math.max(box.top, top);
      if (box.height && visible >= 0.8 * Math.min(box.height, bottom - top)) seen.add(record);
    }
  }

  let asked = false;
  function lookSoon() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      look();
    });
  }
  for (const cause of ["scroll", "resize", "DOMContentLoaded", "focusin"]) window.addEventListener(cause, lookSoon, { passive: true });
  document.addEventListener("htmx:afterSettle", lookSoon);

  /** Of these elements with [data-record], those that have been in view. */
  function among(elements) {
    look();
    return elements.filter((each) => seen.has(each.dataset.record));
  }

  ts.inView = { among };
})();
