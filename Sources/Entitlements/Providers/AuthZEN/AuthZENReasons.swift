import PosternJSON

/// Where the reason of a deny stands in the `context` of an AuthZEN decision, whose content is not standardised.
public struct AuthZENReasons: Sendable, Hashable {
  private var code: [JSONPlace]
  private var message: [JSONPlace]

  /// The places where decision points are known to put it.
  public static let usual = AuthZENReasons(
    codes: ["/code", "/error/code", "/reason_code"],
    messages: ["/error/message", "/message", "/reason_user/en", "/reason_user", "/reason_admin/en", "/reason_admin"])

  private init(codes: [String], messages: [String]) {
    code = codes.compactMap(JSONPlace.init)
    message = messages.compactMap(JSONPlace.init)
  }

  /// The usual places behind those that are given, JSON Pointers into `context`; nil when one is no pointer.
  public init?(code: String?, message: String?) {
    self = .usual
    if let code {
      guard let place = JSONPlace(code) else { return nil }
      self.code.insert(place, at: 0)
    }
    if let message {
      guard let place = JSONPlace(message) else { return nil }
      self.message.insert(place, at: 0)
    }
  }

  /// What `context` says of a deny: its code, its message, the whole of it as details.
  func status(in context: JSONValue?, trace: String?) -> Status {
    guard let context, context != .null else { return .denied(trace: trace) }
    let details = EnhancedError.shortened(JSONWriter().string(context))
    let reason = context["reason"]?.stringValue
    // `reason` is a code with some, a sentence with others.
    let code = text(at: self.code, in: context) ?? reason.flatMap { Self.isCode($0) ? $0 : nil }
    let message = text(at: self.message, in: context) ?? reason.flatMap { Self.isCode($0) ? nil : $0 }
    let status = context["error"]?["status"]?.integerValue.flatMap { (400...599).contains($0) ? Int($0) : nil }
    let known = code.flatMap { EnhancedErrorTable[$0] }
    let denied = Status.denied(message: message.map(EnhancedError.shortened), details: details, trace: trace)
    return Status(
      status: status ?? known?.status ?? denied.status, code: code.map(EnhancedError.shortened) ?? denied.code,
      action: known?.action ?? "none", message: denied.message, details: details, trace: trace)
  }

  private func text(at places: [JSONPlace], in context: JSONValue) -> String? {
    places.lazy.compactMap { $0.value(in: context)?.stringValue }.first { !$0.isEmpty }
  }

  private static func isCode(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "_.-:".utf8.contains(byte)
      }
  }
}
