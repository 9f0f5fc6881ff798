import PosternTestSupport
import Testing

@testable import HTTPMessages

/// A pipe against a model: an array of the bytes that were written and not read.
@Suite("A pipe of bytes")
struct BytePipeTests {
  /// One run of random writes, reads and ends.
  private struct Run {
    let window: Int
    var random: SeededGenerator
    var pipe: BytePipe
    var model: [UInt8] = []
    var end: TransferControl.BodyEnd?
    var nextByte: UInt8 = 0

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
      window = Int.random(in: 1...40, using: &random)
      pipe = BytePipe(window: window)
    }

    mutating func bytes() -> [UInt8] {
      (0..<Int.random(in: 0...20, using: &random)).map { _ in
        nextByte &+= 1
        return nextByte
      }
    }

    /// Does one step; false if the pipe and the model differ.
    mutating func step() -> Bool {
      switch Int.random(in: 0..<40, using: &random) {
      case 0..<10:
        let piece = bytes()
        pipe.write(piece)
        if end == nil { model += piece }
      case 10..<20:
        let piece = bytes()
        let limit = Int.random(in: 0...30, using: &random)
        piece.withUnsafeBufferPointer { pipe.write($0, joiningUpTo: limit) }
        if end == nil { model += piece }
      case 20..<28:
        let piece = pipe.read()
        guard (piece ?? []) == Array(model.prefix(piece?.count ?? 0)), (piece == nil) == model.isEmpty else {
          return false
        }
        model.removeFirst(piece?.count ?? 0)
      case 28..<39:
        var buffer = [UInt8](repeating: 0, count: Int.random(in: 1...25, using: &random))
        let count = buffer.withUnsafeMutableBytes { pipe.read(into: $0) }
        guard count == min(buffer.count, model.count), buffer.prefix(count) == model.prefix(count) else { return false }
        model.removeFirst(count)
      default:
        let given: TransferControl.BodyEnd = Bool.random(using: &random) ? .complete : .failed
        pipe.finish(given)
        end = end ?? given
      }
      return pipe.count == model.count && pipe.end == end && pipe.isFull == (model.count >= window)
        && pipe.isReadable == (!model.isEmpty || end != nil)
    }
  }

  @Test("gives all bytes in order, however they are written and read, and none that come after its end")
  func model() {
    for seed in 0..<500 as Range<UInt64> {
      var run = Run(seed: seed)
      for number in 0..<200 {
        guard run.step() else {
          Issue.record("seed \(seed), step \(number)")
          return
        }
      }
    }
  }

  @Test("joins small pieces up to the given size, and keeps those apart that were written as pieces")
  func pieces() {
    var pipe = BytePipe(window: 100)
    for _ in 0..<5 { [1, 2].withUnsafeBufferPointer { pipe.write($0, joiningUpTo: 6) } }
    #expect(pipe.read() == [1, 2, 1, 2, 1, 2])
    #expect(pipe.read() == [1, 2, 1, 2])
    pipe.write([3])
    pipe.write([4])
    #expect(pipe.read() == [3] && pipe.read() == [4] && pipe.read() == nil)
  }
}
