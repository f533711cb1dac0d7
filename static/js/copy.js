/* <input id="link" readonly> <button data-copy="#link" hidden>: copies the field's text. The button is hidden in the HTML
   because it needs this script; the field can be selected by hand without it. */
(() => {
  "use strict";
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
  });

  document.addEventListener("focusin", (event) => {
    if (event.target.matches("input[readonly]")) event.target.select();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const field = document.querySelector(button.dataset.copy);
    field.select();
    let copied = false;
    try {
      await navigator.clipboard.writeText(field.value);
      copied = true;
    } catch {
      copied = document.execCommand("copy"); // the clipboard API needs HTTPS
    }
    window.touchstone.toast(copied ? "Copied." : "Your browser doesn’t allow copying. The link is selected: press Ctrl+C.");
  });
})();
