import Dispatch
import Glibc
import Testing

@testable import PosternObservability
@testable import Sidecar

/// A reader that does not read must block no writer: where it does, these tests do not end.
@Suite("Standard error as the log's end", .timeLimit(.minutes(1)))
struct LogOutputTests {
  /// A pipe with a capacity of one write (F_SETPIPE_SZ).
  private struct Pipe {
    let reading: Int32
    let writing: Int32

    init() {
      var ends: [Int32] = [-1, -1]
      let failed = Glibc.pipe(&ends)
      (reading, writing) = (ends[0], ends[1])
      #expect(failed == 0)
      #expect(fcntl(writing, 1031, 4096) == 4096)
    }

    /// Reads the content of the pipe.
    func read() -> String {
      var bytes = [UInt8](repeating: 0, count: 65536)
      let count = Glibc.read(reading, &bytes, bytes.count)
      return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }

    func close() {
      Glibc.close(reading)
      Glibc.close(writing)
    }
  }

  private static func line(_ count: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(ascii: "a"), count: count - 1) + [UInt8(ascii: "\n")]
  }

  @Test("the message about dropped lines takes the capacity that the next line needs")
  func dropped() {
    let pipe = Pipe()
    defer { pipe.close() }
    let output = LogOutput(descriptor: pipe.writing)
    for _ in 0..<3 { output.write(Self.line(4090)) }
    #expect(pipe.read() == String(decoding: Self.line(4090), as: UTF8.self))
    output.write(Self.line(4090))
    let text = pipe.read()
    #expect(text.hasPrefix("postern: 2 log lines dropped, standard error was full\naaa") && text.hasSuffix("a\n"))
    output.write(Self.line(10))
    #expect(pipe.read() == String(decoding: Self.line(10), as: UTF8.self))
  }

  @Test("of two writers with capacity for one, the second waits for the reader")
  func together() {
    for _ in 0..<200 {
      let pipe = Pipe()
      let output = LogOutput(descriptor: pipe.writing)
      DispatchQueue.concurrentPerform(iterations: 8) { _ in output.write(Self.line(4096)) }
      #expect(pipe.read().utf8.count == 4096)
      pipe.close()
    }
  }
}
