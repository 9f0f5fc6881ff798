import ArgumentParser
import Glibc
import JSON

/// A JSON file with a key or a key set.
struct KeyFile: ExpressibleByArgument {
  static let maxBytes = 1 << 20

  let path: String

  init?(argument: String) { path = argument }

  /// What the file holds.
  func read() throws -> JSONValue {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ValidationError("\(path): \(String(cString: strerror(errno))).") }
    defer { close(descriptor) }
    let text = StandardInput.readAll(from: descriptor, atMost: Self.maxBytes + 1)
    guard text.count <= Self.maxBytes else { throw ValidationError("\(path) is larger than \(Self.maxBytes) bytes.") }
    do {
      return try JSONParser().parse(text)
    } catch {
      throw ValidationError("\(path) is \(error).")
    }
  }
}
