import PosternCrypto
import PosternSupport

/// A small web page: no scripts, nothing loaded from anywhere, readable at any width and in the dark.
struct Page: Sendable {
  /// The title, which is the heading too.
  let title: String
  /// The content below the heading, as HTML.
  let content: String

  /// The whole document.
  var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(Page.escape(title)) – Playground</title>
    <style>\(Page.style)</style>
    </head>
    <body>
    <main>
    <p class="mark">Playground</p>
    <h1>\(Page.escape(title))</h1>
    \(content)
    </main>
    <footer>A development double on loopback. Do not type real passwords here.</footer>
    </body>
    </html>

    """
  }

  /// Text escaped for HTML, also within quoted attributes.
  static func escape(_ text: String) -> String {
    var escaped = ""
    for character in text.unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }

  /// A labelled input; `attributes` are HTML.
  static func field(_ name: String, label: String, value: String = "", attributes: String) -> String {
    """
    <label for="\(name)">\(escape(label))</label>
    <input id="\(name)" name="\(name)" value="\(escape(value))" \(attributes)>
    """
  }

  /// A paragraph that assistive technology reads out at once; empty without text.
  static func alert(_ text: String?) -> String {
    text.map { "<p class=\"alert\" role=\"alert\">\(escape($0))</p>" } ?? ""
  }

  /// The header fields of every page. The policy allows the one style sheet by its hash, and nothing else. It has no
  /// `form-action`: browsers apply that to the redirect behind a form as well, and that goes to the client.
  static let headers = [
    (
      "content-security-policy",
      "default-src 'none'; style-src 'sha256-\(Base64.string(HashFunction.sha256.hash(Array(style.utf8))))'; "
        + "base-uri 'none'; frame-ancestors 'none'"
    ),
    ("cache-control", "no-store"), ("referrer-policy", "no-referrer"), ("x-content-type-options", "nosniff"),
  ]

  private static let style = """
    :root{color-scheme:light dark;--ink:#1b2430;--soft:#5a6675;--paper:#f3f5f8;--card:#fff;--line:#8a95a3;--go:#1d5fbf}
    @media(prefers-color-scheme:dark){:root{--ink:#e8ecf1;--soft:#a5b0bd;--paper:#12171e;--card:#1c232d;--line:#6d7a8a;--go:#2f6fd0}}
    *{box-sizing:border-box}
    body{margin:0;min-height:100vh;display:flex;flex-direction:column;align-items:center;justify-content:center;gap:1rem;
    padding:1.5rem;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
    main{width:100%;max-width:24rem;padding:2rem;background:var(--card);border-radius:.75rem;
    box-shadow:0 1px 3px #0003,0 8px 24px #0001}
    .mark{margin:0;color:var(--soft);font-size:.8rem;letter-spacing:.08em;text-transform:uppercase}
    h1{margin:.25rem 0 1rem;font-size:1.5rem;line-height:1.25}
    p{margin:0 0 1rem;overflow-wrap:anywhere}
    label{display:block;margin:1rem 0 .25rem;font-weight:600}
    input{width:100%;padding:.6rem .75rem;border:1px solid var(--line);border-radius:.4rem;background:transparent;
    color:inherit;font:inherit}
    button{width:100%;margin-top:1.25rem;padding:.7rem;border:1px solid var(--go);border-radius:.4rem;background:var(--go);
    color:#fff;font:inherit;font-weight:600;cursor:pointer}
    button.plain{margin-top:.6rem;background:transparent;border-color:var(--line);color:inherit}
    :focus-visible{outline:3px solid #f0a020;outline-offset:2px}
    .alert{padding:.6rem .75rem;border-left:4px solid #c62828;background:#c6282818}
    footer{color:var(--soft);font-size:.85rem;text-align:center}
    """
}
