/* A form whose answer is a file: the browser stays on the page, so the list beside it has to be told.

   <form data-download="#downloads" data-local method="post">...</form>
   <div id="downloads" hx-get="..." hx-trigger="touchstone:download">

   The element named hears touchstone:download a moment after the form was sent, when the server knows of it. */
(() => {
  "use strict";
  const A_MOMENT = 800; // milliseconds

  document.addEventListener("submit", (event) => {
    const name = event.target.dataset.download;
    if (!name || event.defaultPrevented) return;
    setTimeout(() => document.querySelector(name)?.dispatchEvent(new CustomEvent("touchstone:download")), A_MOMENT);
  });
})();
