import ArgumentParser
import Glibc
import PosternJSON
import PosternSupport

/// A JSON file with a key or a key set.
struct KeyFile: ExpressibleByArgument {
  static let maxBytes = 1 << 20
  static var defaultCompletionKind: CompletionKind { .file() }

  let path: String

  init?(argument: String) { path = argument }

  /// Reads the file; the command exits with 2 when it is not usable.
  func read() throws -> JSONValue {
    let text = try Self.contents(of: path)
    do {
      return try JSONParser().parse(text)
    } catch {
      throw Self.failure("\(error)", path)
    }
  }

  /// The bytes of a file; the command exits with 2 when there are none to be had.
  static func contents(of path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(SystemError.text(), path) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      throw failure("not a file", path)
    }
    let text = StandardInput.readAll(from: descriptor, atMost: maxBytes + 1)
    guard text.count <= maxBytes else { throw failure("larger than \(maxBytes) bytes", path) }
    return text
  }

  private static func failure(_ reason: String, _ path: String) -> ExitCode {
    FailureNote.print("\(path): \(reason)")
    return ExitCode(2)
  }
}
