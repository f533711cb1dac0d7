/* A form that downloads a file leaves the page as it is, so the list of downloads has to be refreshed.

   <form data-download="#downloads" data-local method="post">...</form>
   <div id="downloads" hx-get="..." hx-trigger="touchstone:download">

   The named element receives touchstone:download shortly after the form is sent, when the server has registered it. */
(() => {
  "use strict";
  const DELAY = 800; // ms

  document.addEventListener("submit", (event) => {
    const name = event.target.dataset.download;
    if (!name || event.defaultPrevented) return;
    setTimeout(() => document.querySelector(name)?.dispatchEvent(new CustomEvent("touchstone:download")), DELAY);
  });
})();
