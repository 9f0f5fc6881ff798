import PosternJSON
public import PosternSupport

/// Reads answers of the AuthZEN Authorization API 1.0.
enum AuthZENReply {
  /// Returns the decisions of an `evaluations` answer (section 7.2): as many as were requested, in that order. A
  /// `decision` member next to them is ignored.
  static func verdicts(
    in document: JSONValue, count: Int, reasons: AuthZENReasons, trace: String?
  ) throws(DecisionFault) -> [DecisionVerdict] {
    guard let evaluations = document["evaluations"]?.arrayValue else {
      throw .format("the answer has no evaluations", trace: trace)
    }
    guard evaluations.count == count else {
      throw .format("the answer has \(evaluations.count) evaluations for \(count) resources", trace: trace)
    }
    var verdicts: [DecisionVerdict] = []
    for evaluation in evaluations { verdicts.append(try verdict(in: evaluation, reasons: reasons, trace: trace)) }
    return verdicts
  }

  /// Reads one decision (section 6.2).
  static func verdict(
    in evaluation: JSONValue, reasons: AuthZENReasons, trace: String?
  ) throws(DecisionFault) -> DecisionVerdict {
    guard let decision = evaluation["decision"]?.boolValue else {
      throw .format("an evaluation has no decision", trace: trace)
    }
    let context = evaluation["context"]
    if let context, context != .null, context.objectValue == nil {
      throw .format("the context of a decision is no object", trace: trace)
    }
    let hasError = context?["error"].map { $0 != .null } ?? false
    guard !decision else {
      return hasError ? .fault(.item("a permit that came with an error", trace: trace)) : .permit(lifetime: nil)
    }
    return EnhancedError.verdict(reasons.status(in: context, trace: trace))
  }
}

/// The locations of a deny's reason in the `context` of an AuthZEN decision, whose content is not standardised.
public struct AuthZENReasons: Sendable, Hashable {
  private var code: [JSONPointer]
  private var message: [JSONPointer]

  /// The locations that known decision points use.
  public static let usual = AuthZENReasons(
    codes: ["/code", "/error/code", "/reason_code"],
    messages: ["/error/message", "/message", "/reason_user/en", "/reason_user", "/reason_admin/en", "/reason_admin"])

  private init(codes: [String], messages: [String]) {
    code = codes.compactMap(JSONPointer.init)
    message = messages.compactMap(JSONPointer.init)
  }

  /// The usual locations after the given ones, JSON Pointers into `context`; nil when one is no JSON Pointer.
  public init?(code: String?, message: String?) {
    self = .usual
    if let code {
      guard let pointer = JSONPointer(code) else { return nil }
      self.code.insert(pointer, at: 0)
    }
    if let message {
      guard let pointer = JSONPointer(message) else { return nil }
      self.message.insert(pointer, at: 0)
    }
  }

  /// Reads a deny's code and message in `context`; the whole context is its details.
  func status(in context: JSONValue?, trace: String?) -> Status {
    guard let context, context != .null else { return .denied(trace: trace) }
    let details = EnhancedError.shortened(JSONWriter().string(context))
    let reason = context["reason"]?.stringValue
    // Some decision points have a code in `reason`, others a sentence.
    let code = text(at: self.code, in: context) ?? reason.flatMap { Self.isCode($0) ? $0 : nil }
    let message = text(at: self.message, in: context) ?? reason.flatMap { Self.isCode($0) ? nil : $0 }
    let status = context["error"]?["status"]?.integerValue.flatMap { (400...599).contains($0) ? Int($0) : nil }
    let known = code.flatMap { EnhancedErrorTable[$0] }
    let denied = Status.denied(message: message.map(EnhancedError.shortened), details: details, trace: trace)
    return Status(
      status: status ?? known?.status ?? denied.status, code: code.map(EnhancedError.shortened) ?? denied.code,
      action: known?.action ?? "none", message: denied.message, details: details, trace: trace)
  }

  private func text(at pointers: [JSONPointer], in context: JSONValue) -> String? {
    pointers.lazy.compactMap { $0.value(in: context)?.stringValue }.first { !$0.isEmpty }
  }

  private static func isCode(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "_.-:".utf8.contains(byte)
      }
  }
}

/// A JSON Pointer (RFC 6901): a location in a document.
struct JSONPointer: Sendable, Hashable {
  private let names: [String]

  /// Reads a pointer; nil when it is none.
  init?(_ pointer: String) {
    guard pointer.isEmpty || pointer.utf8.first == UInt8(ascii: "/") else { return nil }
    names = pointer.split(atByte: "/", omittingEmptySubsequences: false).dropFirst().map(Self.unescaped)
  }

  /// Returns the value at that location in `document`.
  func value(in document: JSONValue) -> JSONValue? {
    names.reduce(document) { (value: JSONValue?, name) in
      switch value {
      case .object(let object)?: object[name]
      case .array(let elements)?: Int(name).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
      default: nil
      }
    }
  }

  /// `~1` is a slash and `~0` a tilde (RFC 6901 section 4).
  private static func unescaped(_ name: Substring) -> String {
    var result = ""
    var isEscape = false
    for character in name.unicodeScalars {
      if isEscape {
        result += character == "1" ? "/" : character == "0" ? "~" : "~\(character)"
        isEscape = false
      } else if character == "~" {
        isEscape = true
      } else {
        result.unicodeScalars.append(character)
      }
    }
    return isEscape ? result + "~" : result
  }
}

extension AuthZENReasons: ConciseStringConvertible {
  /// The counts.
  public var description: String {
    "\(Concise.count(code.count, "location")) of codes, \(Concise.count(message.count, "location")) of messages"
  }
}
