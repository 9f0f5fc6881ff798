import Glibc

/// The environment variables of this process.
public enum ProcessEnvironment {
  /// All of them, as they are now. Values that are not UTF-8 are repaired; of a repeated name the first counts, as in
  /// `getenv`.
  public static var current: [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      // By bytes: the first of the value may be a scalar that makes one character of itself and the equals sign.
      let nameLength = strcspn(text, "=")
      let name = String(
        decoding: UnsafeBufferPointer(start: text, count: nameLength).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if text[nameLength] != 0, variables[name] == nil {
        variables[name] = String(cString: text + nameLength + 1)
      }
      entry = entry.successor()
    }
    return variables
  }
}
