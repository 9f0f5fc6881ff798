/// The page that a browser shows at the end of a login: no script, nothing loaded from anywhere, readable at any width
/// and in the dark.
package struct LoginPage: Sendable {
  /// There is a session.
  package static let done = LoginPage(
    status: "200 OK", mark: "✓", title: "You are signed in",
    text: "You can close this window and go back to the program.")
  /// There is none.
  package static let failed = LoginPage(
    status: "400 Bad Request", mark: "✕", title: "You are not signed in",
    text: "The login did not work, and the program that you logged in for shows why. You can close this window.")
  /// A callback of another login.
  package static let notThisLogin = LoginPage(
    status: "400 Bad Request", mark: "?", title: "Not the login that is waiting",
    text: "This page belongs to another login, or to one that took too long. Open the address that the program shows.")
  /// Any other address.
  static let nothingHere = LoginPage(
    status: "404 Not Found", mark: "?", title: "Nothing here", text: "A login ends at this address.")

  let status: String
  let mark: String
  let title: String
  let text: String

  /// The whole answer to a request. Its policy allows the one style sheet, by its hash.
  var response: [UInt8] {
    let body = Array(html.utf8)
    let head = """
      HTTP/1.1 \(status)\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: \(body.count)\r\n\
      Content-Security-Policy: default-src 'none'; style-src 'sha256-\(Self.styleHash)'; base-uri 'none'; \
      form-action 'none'; frame-ancestors 'none'\r\n\
      Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n\
      Connection: close\r\n\r\n
      """
    return Array(head.utf8) + body
  }

  private var html: String {
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>\(title) – Postern</title>
    <style>\(Self.style)</style>
    </head>
    <body>
    <main>
    <p class="mark" aria-hidden="true">\(mark)</p>
    <h1>\(title)</h1>
    <p>\(text)</p>
    </main>
    </body>
    </html>

    """
  }

  /// SHA-256 of `style`; a test compares them, and a browser shows a bare page when they differ.
  private static let styleHash = "0Liq4uVAxSpgUfG9gJdXCkuS6d2lRXwkZwByouNC+Lc="
  private static let style = """
    :root{color-scheme:light dark;--ink:#1b2430;--soft:#5a6675;--paper:#f3f5f8;--card:#fff}
    @media(prefers-color-scheme:dark){:root{--ink:#e8ecf1;--soft:#a5b0bd;--paper:#12171e;--card:#1c232d}}
    *{box-sizing:border-box}
    body{margin:0;min-height:100vh;display:flex;align-items:center;justify-content:center;padding:1.5rem;
    background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
    main{width:100%;max-width:26rem;padding:2rem;background:var(--card);border-radius:.75rem;text-align:center;
    box-shadow:0 1px 3px #0003,0 8px 24px #0001}
    h1{margin:.5rem 0;font-size:1.5rem;line-height:1.25;text-wrap:balance}
    p{margin:0;color:var(--soft);text-wrap:balance}
    .mark{font-size:2rem;line-height:1}
    """
}
