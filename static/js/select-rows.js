/* Rows of a table that are selected for one of the actions below it.

   <form data-select>
     <input type="checkbox" data-select-all>          all rows of the page
     <input type="checkbox" name="document" value=…>  one row
     <div data-selected hidden>                       the actions, shown when something is selected
       <b data-selected-count>, <label data-all-matching hidden> with <input type="checkbox" name="all" value="yes">
   Without this script the actions are always shown. */
(() => {
  "use strict";
  const boxes = (form) => [...form.querySelectorAll('input[name="document"]')];

  function refresh(form) {
    const rows = boxes(form);
    const chosen = rows.filter((box) => box.checked).length;
    const all = form.querySelector("[data-select-all]");
    const matching = form.querySelector("[data-all-matching]");
    const everything = matching?.querySelector("input");
    if (all) {
      all.checked = chosen > 0 && chosen === rows.length;
      all.indeterminate = chosen > 0 && chosen < rows.length;
    }
    if (everything && chosen < rows.length) everything.checked = false;
    if (matching) matching.hidden = chosen < rows.length;
    const count = everything?.checked ? Number(form.dataset.select) : chosen;
    form.querySelector("[data-selected]").hidden = !chosen;
    form.querySelector("[data-selected-count]").textContent = `${count.toLocaleString("en")} selected`;
  }

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-select]");
    if (!form) return;
    if (event.target.matches("[data-select-all]")) for (const box of boxes(form)) box.checked = event.target.checked;
    refresh(form);
  });

  // A page that comes back from the history keeps its ticks.
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form[data-select]")) refresh(form);
  });
})();
