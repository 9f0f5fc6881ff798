// Before anything is painted: the colours the reader chose, else those of the system.
(function () {
  var root = document.documentElement;
  root.classList.add("script");
  try {
    var chosen = localStorage.getItem("postern-theme");
    if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
  } catch (error) { /* nothing is kept where the browser does not allow it */ }
})();
