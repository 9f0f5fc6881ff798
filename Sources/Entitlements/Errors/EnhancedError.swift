import PosternJSON

/// Reads enhanced errors, as leniently as their servers write them.
enum EnhancedError {
  /// The longest text that is passed on, in bytes.
  static let maxTextBytes = 4096

  /// The error in `document`: bare, in `error`, or the first of `errors`; nil when there is none with a code. `status`
  /// stands in for a missing one.
  static func read(in document: JSONValue, status: Int, trace: String? = nil) -> Status? {
    let candidates = [document, document["error"], document["errors"]?.arrayValue?.first]
    return candidates.lazy.compactMap { $0 }.compactMap { read($0, status: status, trace: trace) }.first
  }

  /// One error; nil when it has no code.
  static func read(_ error: JSONValue, status: Int, trace: String? = nil) -> Status? {
    guard let code = error["code"]?.stringValue, !code.isEmpty else { return nil }
    let known = EnhancedErrorTable[code]
    func text(_ name: String) -> String? { error[name]?.stringValue.map(shortened) }
    // 0 would say that the decision point did not answer.
    let given = error["status"]?.integerValue.flatMap { (1...999).contains($0) ? Int($0) : nil }
    return Status(
      status: given ?? (status >= 400 ? status : known?.status ?? 403), code: shortened(code),
      action: text("action") ?? known?.action ?? "none", message: text("message") ?? "", details: text("details"),
      helpURL: text("helpUrl"), trace: text("trace") ?? trace)
  }

  /// Whether an error says that there is no decision, and not that the decision is no.
  static func isFault(_ status: Status) -> Bool {
    status.action == "retry" || status.action == "retry-after" || status.status >= 500 || status.status == 429
  }

  /// The verdict of an item that is not authorized.
  static func verdict(_ status: Status) -> DecisionVerdict {
    guard isFault(status) else { return .deny(status, lifetime: nil) }
    let isRetryable = status.action == "retry" || status.action == "retry-after"
    return .fault(DecisionFault(status, retry: isRetryable ? .after(nil) : .never, isWhole: false))
  }

  /// At most `maxTextBytes` bytes of `text`, cut between characters.
  static func shortened(_ text: String) -> String {
    guard text.utf8.count > maxTextBytes else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: maxTextBytes)
    while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
  }
}
