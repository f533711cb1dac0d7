/* What is typed but not saved yet, in this browser's localStorage: one key per person, record, field and page view.

   The page view is part of the key so that two tabs on one field do not overwrite each other's text. Entries are
   {key, user, record, field, url, value, version, at, page, label, unsure}: `version` is the one that the person saw
   when the change began, `at` milliseconds, `page` the address to return to, `unsure` the values that were sent
   without an answer (the server may have stored them). */
(() => {
  "use strict";
  const PREFIX = "touchstone.outbox";
  const ts = (window.touchstone = window.touchstone || {});
  const view = Math.random().toString(36).slice(2, 10);
  const FIELDS = ["key", "user", "record", "field", "url", "value", "version", "at", "page", "label", "unsure"];

  ts.store = {
    /** False once the browser refused to keep something: only then does leaving the page warn. */
    works: true,

    key: ({ user, record, field }) => [PREFIX, user, record, field, view].join("|"),

    put(entry) {
      try {
        localStorage.setItem(entry.key, JSON.stringify(Object.fromEntries(FIELDS.map((name) => [name, entry[name]]))));
        this.works = true;
      } catch {
        this.works = false; // full, or switched off
      }
    },

    drop(entry) {
      try {
        localStorage.removeItem(entry.key);
      } catch {
        // nothing was kept, so nothing is left
      }
    },

    /** All entries of this person, oldest first. What cannot be read is left alone. */
    all(user) {
      const found = [];
      try {
        for (const key of Object.keys(localStorage)) {
          if (!key.startsWith(`${PREFIX}|${user}|`)) continue;
          const entry = JSON.parse(localStorage.getItem(key));
          if (entry && entry.key === key) found.push(entry);
        }
      } catch {
        // storage switched off, or an entry of a later version
      }
      return found.sort((a, b) => a.at - b.at);
    },
  };
})();
