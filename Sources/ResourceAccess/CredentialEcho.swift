import HTTPMessages
import PosternSupport

/// Hides the credential of a fetch's requests in what comes back: in the fields of responses, whatever their names are,
/// and in the reason phrase. Bodies are not searched.
final class CredentialEcho: Sendable {
  /// How often each byte is looked at: for each spelling, and again after each decoding.
  private static let looks = 32

  private let current = Locked<StaticCredential.Current?>(nil)
  private let longWork: LongWork?

  /// Nothing is hidden yet. Long heads are searched where `longWork` is done.
  init(_ longWork: LongWork?) { self.longWork = longWork }

  /// A request is about to carry `credential`, or none: then a server may still return the one before.
  func sends(_ credential: StaticCredential.Current?) {
    if let credential { current.withLock { $0 = credential } }
  }

  /// `response` without the credential.
  func hidden(in response: HTTPResponse) async -> HTTPResponse {
    guard let (fields, reason) = await hidden(in: response.fields, response.reason) else { return response }
    var response = response
    (response.fields, response.reason) = (fields, reason)
    return response
  }

  /// `head` without the credential.
  func hidden(in head: HTTPResponseHead) async -> HTTPResponseHead {
    guard let (fields, reason) = await hidden(in: head.fields, head.reason) else { return head }
    var head = head
    (head.fields, head.reason) = (fields, reason)
    return head
  }

  private func hidden(in fields: HTTPFields, _ reason: String?) async -> (HTTPFields, String?)? {
    guard let credential = current.withLock({ $0 }) else { return nil }
    let search: @Sendable () -> (HTTPFields, String?) = {
      let spellings = credential.spellings
      func hidden(_ text: String) -> String { spellings.masked(text, with: StaticCredential.mask) ?? text }
      let lines = fields.lines.map { HTTPFields.Field(name: hidden($0.name), value: hidden($0.value)) }
      return (HTTPFields(lines), reason.map(hidden))
    }
    guard let longWork else { return search() }
    let bytes = fields.lines.reduce(reason?.utf8.count ?? 0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    return await longWork.run(on: bytes * Self.looks, search)
  }
}
