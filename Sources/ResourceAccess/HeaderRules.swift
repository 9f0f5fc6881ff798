import HTTPMessages
import OAuthClient
import PosternSupport

/// The rules for header fields of callers; every fault is `invalid_headers` with the path of the invalid field.
///
/// Field values are read byte by byte, as the server reads them: a combining scalar before or behind a semicolon hides
/// nothing.
final class HeaderRules: Sendable {
  static let maxLines = 256
  static let maxBytes = 64 << 10

  let reservedCookies: ReservedCookies
  /// Names of fields that a caller may override the request with, as `HTTPFieldRules.canonical(_:)` has them.
  let allowed: Set<String>
  /// The resource's own credential, whose name is reserved.
  let credential: StaticCredential?

  /// The rules of `server`.
  init(_ server: ResourceServer) {
    reservedCookies = ReservedCookies(server.reservedCookies)
    allowed = Set(server.allowedHeaders.map(HTTPFieldRules.canonical))
    credential = server.credential
  }

  /// The fields as they are sent: values trimmed, `Accept-Encoding` left out unless `keepsCodings`, since content codings
  /// are negotiated and undone by the transport.
  func checked(_ headers: HTTPFields, keepsCodings: Bool = false) throws(ResourceError) -> HTTPFields {
    guard headers.lines.count <= Self.maxLines else { throw fault("there are more than \(Self.maxLines) headers") }
    var result = HTTPFields()
    // With room for what is added later: the trace, the user agent, and a token or a credential.
    result.reserveCapacity(headers.lines.count + 4)
    var size = 0
    for line in headers.lines {
      guard HTTPFieldRules.isName(line.name) else { throw fault("a header's name is no token", at: line.name) }
      try checkName(line)
      guard HTTPFieldRules.isValue(line.value) else {
        throw fault("the header's value holds a control character", at: line.name)
      }
      size += line.name.utf8.count + line.value.utf8.count
      guard size <= Self.maxBytes else { throw fault("the headers are larger than \(Self.maxBytes) bytes") }
      switch line.name.lowercasedASCII() {
      case "cookie", "cookie2": try checkCookies(line)
      case "content-type":
        guard result["Content-Type"] == nil else { throw fault("the header is given twice", at: line.name) }
      case "accept-encoding" where !keepsCodings: continue
      default: break
      }
      result.append(line.name, HTTPFieldRules.trimmed(line.value))
    }
    return result
  }

  /// Reserved names, and those that are reserved unless the resource's configuration lists them.
  private func checkName(_ line: HTTPFields.Field) throws(ResourceError) {
    guard !HTTPFieldRules.isReserved(line.name) else { throw fault("the header is reserved", at: line.name) }
    guard credential?.isNamed(line.name) != true else {
      throw fault("the header is reserved for the resource's credential", at: line.name)
    }
    guard HTTPFieldRules.overridesRequest(line.name, value: line.value),
      !allowed.contains(HTTPFieldRules.canonical(line.name))
    else { return }
    throw fault("the header is reserved unless the resource's allowedHeaders lists it", at: line.name)
  }

  private func checkCookies(_ line: HTTPFields.Field) throws(ResourceError) {
    guard line.value.split(atByte: ";").contains(where: reservedCookies.occur) else { return }
    throw fault("the header holds the single sign-on cookie", at: line.name)
  }

  private func fault(_ detail: String, at name: String? = nil) -> ResourceError {
    ResourceError(.invalidHeaders, detail, path: name.map { ["headers", .name(Self.shortened($0))] } ?? ["headers"])
  }

  /// The first 256 bytes of `name`.
  private static func shortened(_ name: String) -> String { String(decoding: name.utf8.prefix(256), as: UTF8.self) }
}
