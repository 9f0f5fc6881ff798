import NIOHTTP1
import PosternJSON
import PosternSupport

/// The headers of a request, read as its call takes them.
struct AdobePassHeaderReading {
  private let headers: HTTPHeaders
  private let call: AdobePassCall

  /// The headers of `request`; none of this service's may occur twice.
  init(_ request: Request, _ call: AdobePassCall) throws(AdobePassError) {
    headers = request.headers
    self.call = call
    for header in AdobePassHeader.allCases where headers[header.rawValue].count > 1 {
      throw AdobePassError("invalid_header")
    }
  }

  /// The value of a header; nil without it.
  func value(_ header: AdobePassHeader) -> String? { headers.first(name: header.rawValue) }

  /// Rejects the headers that the call does not list.
  func rejectOthers() throws(AdobePassError) {
    for header in AdobePassHeader.allCases where value(header) != nil {
      guard call.headers.contains(header) || AdobePassHeader.ofDevice.contains(header) else {
        throw AdobePassError("invalid_header")
      }
    }
    if value(.visitor)?.isEmpty == true { throw AdobePassError("invalid_header") }
  }

  /// The device's identifier; empty where it may be and is left out.
  func device() throws(AdobePassError) -> String {
    guard let text = value(.device) else {
      if call.needsDevice { throw AdobePassError("invalid_header_device_identifier") }
      return ""
    }
    guard let identifier = Self.fingerprint(text) else { throw AdobePassError("invalid_header_device_identifier") }
    return identifier
  }

  /// The device's information; empty where it may be and is left out.
  func information() throws(AdobePassError) -> JSONObject {
    guard let text = value(.information) else {
      if call.needsDevice { throw AdobePassError("invalid_header_device_info") }
      return JSONObject()
    }
    guard let information = Self.information(text) else { throw AdobePassError("invalid_header_device_info") }
    return information
  }

  /// The device's address: one, without anything around it.
  func address() throws(AdobePassError) -> String? {
    guard let text = value(.address) else { return nil }
    guard !text.isEmpty, text.allSatisfy({ $0.isHexDigit || $0 == "." || $0 == ":" }) else {
      throw AdobePassError("invalid_header")
    }
    return text
  }

  /// The user of the platform's token. One that is no token is served as if there were none, as published for Amazon's.
  func platformSubject() throws(AdobePassError) -> String? {
    let tokens = [AdobePassHeader.amazon, .roku].compactMap(value)
    guard tokens.count <= 1 else { throw AdobePassError("invalid_header") }
    return tokens.first.flatMap(Self.subject)
  }

  /// The user of the service token. What a server does with one that is none is not published: the double rejects it.
  func serviceSubject() throws(AdobePassError) -> String? {
    guard let token = value(.service) else { return nil }
    guard let subject = Self.subject(token) else { throw AdobePassError("invalid_header") }
    return subject
  }

  /// The identity for a promotional TempPass.
  func identity() throws(AdobePassError) -> String? {
    guard let text = value(.identity) else { return nil }
    guard let bytes = Base64.decode(text), let json = String(validating: bytes, as: UTF8.self),
      (try? JSONParser(maxDepth: 4).parse(bytes))?.objectValue?.isEmpty == false
    else { throw AdobePassError("invalid_header_identity_for_temporary_access") }
    return json
  }

  /// The identifier in `AP-Device-Identifier`; nil when it is malformed.
  static func fingerprint(_ text: String) -> String? {
    guard text.hasPrefix("fingerprint ") else { return nil }
    let code = String(text.dropFirst("fingerprint ".count))
    return Base64.decode(code)?.isEmpty == false ? code : nil
  }

  /// The object in `X-Device-Info`; nil when it is malformed or lacks what must be in it.
  static func information(_ text: String) -> JSONObject? {
    guard let bytes = Base64.decode(text), let information = try? JSONParser(maxDepth: 4).parse(bytes),
      ["model", "version", "osName", "osVersion", "connectionType"].allSatisfy({
        information[$0]?.stringValue?.isEmpty == false
      })
    else { return nil }
    return information.objectValue
  }

  /// `sub` of a signed token, whose signature is not checked; the whole text of an encrypted one.
  private static func subject(_ token: String) -> String? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    if parts.count == 5 { return token }
    guard parts.count == 3, !parts[2].isEmpty, let payload = Base64URL.decode(String(parts[1])) else { return nil }
    return (try? JSONParser(maxDepth: 8).parse(payload))?["sub"]?.stringValue
  }
}
