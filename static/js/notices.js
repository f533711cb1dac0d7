/* The bell in the bar asks once a minute whether something is new (hx-trigger in templates/notices/bar.html): only while
   the page is looked at, and without a word when the server cannot answer. Saving finds out for itself that a session
   has ended; the bell does not take the page away from somebody who writes. */
(() => {
  "use strict";
  const isBell = (event) => event.detail.elt.id === "unread";

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isBell(event) && document.hidden) event.preventDefault();
  });
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (isBell(event) && event.detail.xhr.status >= 400) event.preventDefault();
  });
})();
