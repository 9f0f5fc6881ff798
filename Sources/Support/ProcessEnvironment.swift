import Glibc

/// The environment variables of this process.
public enum ProcessEnvironment {
  /// All of them, as they are now. Values that are not UTF-8 are repaired; of a repeated name the first counts, as in `getenv`.
  public static var current: [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let line = String(cString: text)
      if let separator = line.firstIndex(of: "="), variables[String(line[..<separator])] == nil {
        variables[String(line[..<separator])] = String(line[line.index(after: separator)...])
      }
      entry = entry.successor()
    }
    return variables
  }
}
