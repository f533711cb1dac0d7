/* Applies the chosen theme before the first paint: this one file is loaded blocking, in the head.
   "auto" (nothing stored) follows the system. Radio buttons named "theme" anywhere on a page change it. */
(() => {
  "use strict";
  const KEY = "touchstone.theme";
  const root = document.documentElement;
  let chosen = "auto";
  try {
    chosen = localStorage.getItem(KEY) || "auto";
  } catch {
    // Storage is switched off: the choice then lasts for this page only.
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
      // as above
    }
  });
})();
