/* <input id="link" readonly> <button data-copy="#link" hidden>: copies the field's text. Hidden in the HTML: without this
   script the field can still be selected by hand. */
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
      copied = document.execCommand("copy"); // no clipboard without HTTPS
    }
    window.touchstone.toast(copied ? "Copied." : "This browser does not let a page copy: the link is selected, copy it by hand.");
  });
})();
