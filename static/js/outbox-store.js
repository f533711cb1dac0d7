/* Unsaved changes in this browser's localStorage: one key per user, record, field and page view.

   The page view is part of the key so that two tabs on one field do not overwrite each other's text. Entries are
   {key, user, record, field, url, value, version, at, page, label, unsure}: `version` is the one the user saw when the
   change began, `at` a time in milliseconds, `page` the address to return to, `unsure` the values that were sent but
   not answered (the server may have stored them).
   Not touchstone.stored: a failed write has to be reported. */
(() => {
  "use strict";
  const PREFIX = "touchstone.outbox";
  const ts = (window.touchstone = window.touchstone || {});
  const view = Math.random().toString(36).slice(2, 10);
  const FIELDS = ["key", "user", "record", "field", "url", "value", "version", "at", "page", "label", "unsure"];

  ts.store = {
    /** False after the browser refused a write. Leaving the page warns only then. */
    works: true,

    key: ({ user, record, field }) => [PREFIX, user, record, field, view].join("|"),

    put(entry) {
      try {
        localStorage.setItem(entry.key, JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, entry[name]]))));
        this.works = true;
      } catch {
        this.works = false; // full or disabled
      }
    },

    drop(entry) {
      try {
        localStorage.removeItem(entry.key);
      } catch {
        // storage disabled: nothing is stored
      }
    },

    /** All entries of this user, oldest first. Unreadable ones are left alone. */
    all(user) {
      const found = [];
      try {
        for (const key of Object.keys(localStorage)) {
          if (!key.startsWith(`${PREFIX}|${user}|`)) continue;
          const entry = JSON.parse(localStorage.getItem(key));
          if (entry && entry.key === key) found.push(entry);
        }
      } catch {
        // storage disabled, or an entry of a later version
      }
      return found.sort((a, b) => a.at - b.at);
    },
  };
})();
