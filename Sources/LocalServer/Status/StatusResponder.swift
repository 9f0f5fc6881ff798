import HTTPMessages
import PosternSupport

/// Answers requests with pages.
struct StatusResponder: GatewayResponder {
  let pages: HTTPStatusServer.Pages

  func respond(to request: GatewayRequest, with response: any GatewayResponse) async {
    let page: StatusPage
    if let error = Self.error(for: request) { page = error } else { page = await pages(request.path) ?? .missing }
    await response.answer(status: page.status, fields: page.fields, body: page.body)
  }

  private static func error(for request: GatewayRequest) -> StatusPage? {
    guard request.method == "GET" || request.method == "HEAD" else { return .text(405, "GET or HEAD") }
    // A web page whose name was made to lead here must not read what it finds (DNS rebinding).
    guard isLiteral(request.authority) else { return .text(421, "use an address or localhost as the host") }
    return nil
  }

  /// Whether an authority is an address or `localhost`, with or without a port. HTTP/1.0 has none.
  static func isLiteral(_ authority: String) -> Bool {
    if authority.isEmpty || authority.utf8.first == UInt8(ascii: "[") { return true }
    let name = authority.prefix(beforeBytes: ":")
    return name.hasSameASCIILetters(as: "localhost")
      || !name.isEmpty && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
  }
}

extension StatusPage {
  /// For a path that has none.
  fileprivate static let missing = StatusPage.text(404, "not found")
}
