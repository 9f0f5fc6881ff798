import Foundation
import Glibc

/// A child process that enters a sandbox and tries one operation there.
struct Probe {
  /// The path of the program, in the same directory as the tests.
  static let path: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("PosternHardeningProbe").path
  }()

  let lines: [String]
  let status: Int32
  let signal: Int32?

  /// The last line: `ok`, or an error's number.
  var result: String { lines.last ?? "nothing" }

  init(_ arguments: [String], environment: [String: String]? = nil) throws {
    let process = Process()
    if let environment { process.environment = environment }
    process.executableURL = URL(fileURLWithPath: Self.path)
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    lines = text.split(separator: "\n").map(String.init)
    status = process.terminationStatus
    signal = process.terminationReason == .uncaughtSignal ? process.terminationStatus : nil
  }

  init(_ arguments: String...) throws { try self.init(arguments) }

  /// The number of an error as the probe prints it.
  static func code(_ code: Int32) -> String { "\(code)" }
}

/// A directory for one test.
final class Folder {
  let path: String

  init() throws {
    var template = Array("/tmp/postern-hardening-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// A file in it.
  func file(_ name: String) throws -> String {
    let file = "\(path)/\(name)"
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data("x".utf8).write(to: URL(fileURLWithPath: file))
    return file
  }
}
