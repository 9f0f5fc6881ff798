// Search, colours, menu and copying. Everything is readable without it. The index is a script, so that file:// works.
"use strict";
(function () {
  var root = document.body.dataset.root;
  var find = function (selector) { return document.querySelector(selector); };

  // Colours
  var themeButton = find("#theme-button");
  var system = matchMedia("(prefers-color-scheme: dark)");
  function isDark() {
    var chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : system.matches;
  }
  function showTheme() { themeButton.setAttribute("aria-pressed", String(isDark())); }
  themeButton.addEventListener("click", function () {
    var theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("postern-theme", theme); } catch (error) { /* for this page only, then */ }
    showTheme();
  });
  system.addEventListener("change", showTheme);
  showTheme();

  // Menu of narrow windows
  var menuButton = find("#menu-button"), sidebar = find("#sidebar");
  function openMenu(open) {
    sidebar.classList.toggle("open", open);
    menuButton.setAttribute("aria-expanded", String(open));
  }
  menuButton.addEventListener("click", function () { openMenu(!sidebar.classList.contains("open")); });
  sidebar.addEventListener("keydown", function (event) {
    if (event.key === "Escape") { openMenu(false); menuButton.focus(); }
  });
  var current = find(".sidebar [aria-current]");
  if (current && current.offsetTop > sidebar.clientHeight * 0.8) sidebar.scrollTop = current.offsetTop - sidebar.clientHeight / 2;

  // Copying: of a session only what was typed
  document.querySelectorAll(".code").forEach(function (block) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", function () {
      var commands = [].map.call(block.querySelectorAll("[data-copy]"), function (part) { return part.dataset.copy; });
      var text = commands.length ? commands.join("\n") + "\n" : block.querySelector("code").textContent;
      navigator.clipboard.writeText(text).then(function () { button.textContent = "Copied"; }, function () { button.textContent = "Not allowed"; });
      setTimeout(function () { button.textContent = "Copy"; }, 1500);
    });
    block.appendChild(button);
  });

  // Where the reader is on the page
  var links = {};
  document.querySelectorAll(".contents a").forEach(function (link) { links[link.hash.slice(1)] = link; });
  var headings = [].filter.call(document.querySelectorAll("article h2, article h3"), function (heading) { return links[heading.id]; });
  if (headings.length) {
    var mark = function () {
      var here = headings[0];
      headings.forEach(function (heading) { if (heading.getBoundingClientRect().top < 120) here = heading; });
      headings.forEach(function (heading) { links[heading.id].classList.toggle("here", heading === here); });
    };
    addEventListener("scroll", mark, { passive: true });
    mark();
  }

  // Search
  var field = find("#search"), list = find("#results"), status = find("#search-status");
  var index = null, synonyms = {}, chosen = -1;

  function load(then) {
    if (index) return then();
    if (load.waiting) { load.waiting.push(then); return; }
    load.waiting = [then];
    var script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = function () {
      index = window.posternIndex.map(function (entry) {
        return { url: entry[0], page: entry[1], heading: entry[2], text: entry[3], weight: entry[4],
          low: [entry[2].toLowerCase(), entry[1].toLowerCase(), entry[3].toLowerCase()] };
      });
      synonyms = window.posternSynonyms;
      load.waiting.forEach(function (waiting) { waiting(); });
    };
    document.head.appendChild(script);
  }

  function score(entry, words) {
    var total = 0;
    for (var i = 0; i < words.length; i++) {
      var word = words[i], best = 0;
      var at = entry.low[0].indexOf(word);
      if (at >= 0) {
        var starts = at === 0 || /[^a-z0-9]/.test(entry.low[0][at - 1]);
        var whole = starts && !/[a-z0-9]/.test(entry.low[0][at + word.length] || " ");
        best = (whole ? 60 : starts ? 40 : 22) + (entry.low[0] === word ? 40 : 0);
      }
      if (entry.low[1].indexOf(word) >= 0) best = Math.max(best, 6) + (entry.low[1] === word ? 34 : 6);
      var inText = entry.low[2].indexOf(word);
      if (inText >= 0) best += 4 + (inText < 200 ? 2 : 0);
      if (!best) return 0;
      total += best;
    }
    if (words.length > 1 && entry.low[0].indexOf(words.join(" ")) >= 0) total += 140;
    if (entry.page === entry.heading) total += 8;
    return total * entry.weight;
  }

  // What was typed, and the same in the words of these documents, which counts a little less
  function readings(typed) {
    var found = [{ words: typed.split(/\s+/).filter(Boolean), weight: 1 }];
    Object.keys(synonyms).forEach(function (word) {
      var padded = " " + typed.trim() + " ";
      if (padded.indexOf(" " + word + " ") < 0) return;
      var words = padded.replace(" " + word + " ", " " + synonyms[word] + " ").split(/\s+/).filter(Boolean);
      found.push({ words: words, weight: 0.8 });
    });
    return found;
  }

  function marked(element, text, words) {
    var pattern = new RegExp("(" + words.map(function (word) { return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }).join("|") + ")", "ig");
    text.split(pattern).forEach(function (part, number) {
      if (!part) return;
      if (number % 2) {
        var mark = document.createElement("mark");
        mark.textContent = part;
        element.appendChild(mark);
      } else element.appendChild(document.createTextNode(part));
    });
    return element;
  }

  function snippet(entry, words) {
    var at = -1;
    words.forEach(function (word) { var found = entry.low[2].indexOf(word); if (found >= 0 && (at < 0 || found < at)) at = found; });
    var from = Math.max(0, at - 50);
    while (from > 0 && entry.text[from - 1] !== " ") from--;
    return (from ? "… " : "") + entry.text.slice(from, from + 170) + (entry.text.length > from + 170 ? " …" : "");
  }

  function search() {
    var meant = readings(field.value.toLowerCase());
    var words = [].concat.apply([], meant.map(function (reading) { return reading.words; }));
    chosen = -1;
    field.removeAttribute("aria-activedescendant");
    list.textContent = "";
    if (!words.length) return show(false);
    var found = [];
    index.forEach(function (entry) {
      var points = Math.max.apply(null, meant.map(function (reading) { return score(entry, reading.words) * reading.weight; }));
      if (points) found.push([points, entry]);
    });
    found.sort(function (a, b) { return b[0] - a[0]; });
    found.slice(0, 24).forEach(function (one, number) {
      var entry = one[1], item = document.createElement("li"), link = document.createElement("a");
      item.id = "result-" + number;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      link.href = root + entry.url;
      link.tabIndex = -1;
      link.appendChild(marked(document.createElement("b"), entry.heading, words));
      if (entry.page !== entry.heading) {
        var of = document.createElement("span");
        of.className = "of";
        of.textContent = entry.page;
        link.appendChild(of);
      }
      link.appendChild(marked(document.createElement("p"), snippet(entry, words), words));
      item.appendChild(link);
      list.appendChild(item);
    });
    if (!found.length) {
      var nothing = document.createElement("li");
      nothing.className = "nothing";
      nothing.textContent = "Nothing found.";
      list.appendChild(nothing);
    } else choose(0);
    status.textContent = found.length ? found.length + " found" : "Nothing found";
    list.scrollTop = 0;
    show(true);
  }

  function show(open) {
    list.hidden = !open;
    field.setAttribute("aria-expanded", String(open));
  }

  function choose(number) {
    var items = list.querySelectorAll("[role=option]");
    if (!items.length) return;
    if (chosen >= 0 && items[chosen]) items[chosen].setAttribute("aria-selected", "false");
    chosen = (number + items.length) % items.length;
    items[chosen].setAttribute("aria-selected", "true");
    field.setAttribute("aria-activedescendant", items[chosen].id);
    items[chosen].scrollIntoView({ block: "nearest" });
  }

  field.addEventListener("focus", function () { load(function () { if (field.value) search(); }); });
  field.addEventListener("input", function () { load(search); });
  field.addEventListener("keydown", function (event) {
    if (event.key === "ArrowDown") { event.preventDefault(); choose(chosen + 1); }
    else if (event.key === "ArrowUp") { event.preventDefault(); choose(chosen - 1); }
    else if (event.key === "Enter") {
      var link = list.querySelector("[aria-selected=true] a");
      if (link && !list.hidden) { show(false); location.href = link.href; }
    } else if (event.key === "Escape") { show(false); field.blur(); }
  });
  document.addEventListener("click", function (event) {
    if (!event.target.closest(".search")) show(false);
    else if (event.target.closest("#results a")) { show(false); }
  });
  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
      field.select();
    }
  });
})();
