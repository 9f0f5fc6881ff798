import Entitlements
import OAuthClient
import PosternJSON
import PosternSupport

/// Reads one JSON object of an answer of Adobe Pass. A member of another type than the documented one is an error;
/// `null` is a member that is left out, and unknown members are no error.
struct PassReading {
  private let object: JSONObject
  /// The name of the object in errors.
  private let name: String

  /// Reads `value`; throws where it is no object.
  init(_ value: JSONValue, _ name: String) throws(PassError) {
    guard let object = value.objectValue else { throw .format("\(name) is no object") }
    self.object = object
    self.name = name
  }

  /// The value of the first of `names` that is there.
  subscript(names: String...) -> JSONValue? { value(names) }

  private func value(_ names: [String]) -> JSONValue? {
    for name in names {
      if let value = object[name], value != .null { return value }
    }
    return nil
  }

  /// The text of the first of `names` that is there, shortened where it is longer than any text for people.
  func text(_ names: String...) throws(PassError) -> String? {
    guard let value = value(names) else { return nil }
    guard let text = value.stringValue else { throw wrongType(names[0]) }
    return EnhancedError.shortened(text)
  }

  /// A text that is an identifier: not shortened, but an error where it is empty or longer than `maxBytes`.
  func identifier(_ name: String, maxBytes: Int = 1024) throws(PassError) -> String? {
    guard let value = value([name]) else { return nil }
    guard let text = value.stringValue else { throw wrongType(name) }
    guard (1...maxBytes).contains(text.utf8.count) else { throw .format("\(self.name).\(name) has a wrong length") }
    return text
  }

  /// The id of an MVPD.
  func mvpd(_ name: String) throws(PassError) -> String? {
    guard let mvpd = try identifier(name) else { return nil }
    try Self.checkMVPD(mvpd)
    return mvpd
  }

  /// Throws for an id of an MVPD that no call could give.
  static func checkMVPD(_ mvpd: String) throws(PassError) {
    do throws(PassParameterError) {
      try PassOptions.checkSegment(mvpd, ["mvpd"], maxBytes: PassCall.maxIdentifierBytes)
    } catch {
      throw .format("the id of an MVPD \(error.reason)")
    }
  }

  /// Whether a member is true; false where it is left out.
  func flag(_ name: String) throws(PassError) -> Bool {
    guard let value = value([name]) else { return false }
    guard let flag = value.boolValue else { throw wrongType(name) }
    return flag
  }

  /// A time in milliseconds since the epoch, as a number or as a text.
  func time(_ name: String) throws(PassError) -> Timestamp? {
    guard let value = value([name]) else { return nil }
    guard let time = Self.time(value) else { throw wrongType(name) }
    return time
  }

  /// A nested object.
  func object(_ names: String...) throws(PassError) -> PassReading? {
    guard let value = value(names) else { return nil }
    return try PassReading(value, "\(name).\(names[0])")
  }

  /// A list; empty where it is left out.
  func list(_ names: String...) throws(PassError) -> [JSONValue] {
    guard let value = value(names) else { return [] }
    guard let list = value.arrayValue else { throw wrongType(names[0]) }
    return list
  }

  /// A list of texts; empty where it is left out.
  func texts(_ names: String...) throws(PassError) -> [String] {
    guard let value = value(names) else { return [] }
    guard let list = value.arrayValue else { throw wrongType(names[0]) }
    var texts: [String] = []
    for element in list {
      guard let text = element.stringValue else { throw wrongType(names[0]) }
      texts.append(EnhancedError.shortened(text))
    }
    return texts
  }

  private func wrongType(_ member: String) -> PassError { .format("\(name).\(member) is of the wrong type") }

  /// Reads a time in milliseconds since the epoch, as a number or as a text; nil for anything else.
  static func time(_ value: JSONValue?) -> Timestamp? {
    let milliseconds: Int64? =
      switch value {
      case .string(let text)? where text.utf8.count <= 20: Int64(text)
      case .real(let number)?: Int64(exactly: number)
      default: value?.integerValue
      }
    // Until the end of the year 9999, which is the last that RFC 3339 writes.
    return milliseconds.flatMap { (0...253_402_300_799_999).contains($0) ? Timestamp(millisecondsSinceEpoch: $0) : nil }
  }
}
