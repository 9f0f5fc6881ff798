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
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(SystemError.text()) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { throw failure("not a file") }
    let text = StandardInput.readAll(from: descriptor, atMost: Self.maxBytes + 1)
    guard text.count <= Self.maxBytes else { throw failure("larger than \(Self.maxBytes) bytes") }
    do {
      return try JSONParser().parse(text)
    } catch {
      throw failure("\(error)")
    }
  }

  private func failure(_ reason: String) -> ExitCode {
    FailureNote.print("\(path): \(reason)")
    return ExitCode(2)
  }
}
