/* Applies the chosen theme before the first paint. This is the only script that blocks in the head, so it also defines
   touchstone.stored, which the other scripts use.
   "auto" (nothing stored) follows the system. Radio buttons named "theme" anywhere on a page change it. */
(() => {
  "use strict";
  const KEY = "touchstone.theme";
  const root = document.documentElement;
  const ts = (window.touchstone = window.touchstone || {});

  /* JSON values in localStorage. If storage is disabled, full or damaged, a value lasts only as long as the page:
     get returns null and set does nothing. Setting null removes the key. */
  ts.stored = {
    get(key) {
      try {
        return JSON.parse(localStorage.getItem(key));
      } catch {
        return null;
      }
    },
    set(key, value) {
      try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, JSON.stringify(value));
      } catch {
        // see above
      }
    },
  };

  // The theme is stored as a bare word, not as JSON.
  let chosen = "auto";
  try {
    chosen = localStorage.getItem(KEY) || "auto";
  } catch {
    // storage disabled
  }

  function apply(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
  }

  apply(chosen);

  document.addEventListener("DOMContentLoaded", () => {
    for (const radio of document.querySelectorAll('input[name="theme"]')) radio.checked = radio.value === chosen;
  });

  document.addEventListener("change", (event) => {
    if (event.target.name !== "theme") return;
    chosen = event.target.value;
    apply(chosen);
    try {
      if (chosen === "auto") localStorage.removeItem(KEY);
      else localStorage.setItem(KEY, chosen);
    } catch {
      // storage disabled: the theme lasts for this page only
    }
  });
})();
