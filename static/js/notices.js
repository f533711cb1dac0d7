/* The bell in the bar polls once a minute (hx-trigger in templates/notices/bar.html), only while the page is visible.
   Errors are ignored: saving detects the end of a session by itself, and the bell must not redirect a user who is
   typing. */
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
