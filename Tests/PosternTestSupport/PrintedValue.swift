/// Prints values in each way, and finds what a reader should not see.
public enum PrintedValue {
  /// A text to plant in every part of a sample that may be secret. Longer than the strings that JSON values show.
  public static let secret = "planted-secret-0123456789-0123456789-0123456789"

  private static let maxCharacters = 320
  private static let modules = [
    "AccessManagement", "AuthEngine", "CurlTransport", "Entitlements", "HTTPMessages", "JOSE", "KeySets", "OAuthClient",
    "PosternCrypto", "PosternJSON", "PosternSupport", "PosternURLLoading", "ResourceAccess", "SDKCompatibility",
    "SessionRecords", "SessionStore", "Sessions", "StepUp", "Swift", "TokenValidation",
  ]

  /// The faults of what `print`, `String(reflecting:)` and `dump` show of `value`; empty when all of it reads well.
  public static func faults(of value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    let ways = [("print", "\(value)"), ("String(reflecting:)", String(reflecting: value)), ("dump", dumped)]
    return ways.flatMap { way, text in faults(in: text).map { "\(way): \($0): \(text)" } }
  }

  /// The faults of what `print` alone shows, for an enumeration whose case Swift prints with the name of its module
  /// elsewhere.
  public static func faults(ofPrinted value: Any) -> [String] { faults(in: "\(value)").map { "\($0): \(value)" } }

  private static func faults(in text: String) -> [String] {
    let line = text.hasSuffix("\n") ? text.dropLast() : Substring(text)
    let inner = modules.map { $0 + "." } + ["Optional(", "(unknown context", "Locked<", "Mutex"]
    // Bytes are printed as numbers.
    let bytes = Array(secret.utf8.prefix(6)).map(String.init).joined(separator: ", ")
    let checks = [
      ("is empty", line.isEmpty), ("has several lines", line.contains("\n")),
      ("is too long", line.count > maxCharacters),
      ("has a secret", line.contains(secret.prefix(12)) || line.contains(bytes)),
      ("has an inner name", inner.contains { line.contains($0) }),
      // Eight digits: base64url of a random key has "0x" by chance.
      ("has an address", line.contains(#/0x[0-9a-f]{8}/#)),
    ]
    return checks.filter(\.1).map(\.0)
  }
}
