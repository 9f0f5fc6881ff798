import PosternTestSupport
import Testing

@testable import LocalServer

@Suite("A buffer of bytes")
struct ByteBufferTests {
  private static func bytes(_ buffer: ByteBuffer) -> [UInt8] { buffer.withUnsafeBytes { Array($0) } }

  // Catches bytes that are lost, or come back, when they are added behind removed ones or to a window; and windows that
  // change with the buffer that they are of.
  @Test("Random steps leave the bytes that an array has after them, and no other buffer's bytes change")
  func random() {
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<Thoroughness.repetitions(2000, usually: 300) {
      var buffers: [(buffer: ByteBuffer, model: [UInt8])] = [(ByteBuffer(), [])]
      for step in 0..<40 {
        let index = Int.random(in: 0..<buffers.count, using: &generator)
        let more = (0..<Int.random(in: 0...9, using: &generator)).map { _ in
          UInt8.random(in: 0...255, using: &generator)
        }
        switch Int.random(in: 0...7, using: &generator) {
        case 0:
          buffers[index].buffer.append(more)
          buffers[index].model += more
        case 1:
          more.withUnsafeBytes { buffers[index].buffer.append($0) }
          buffers[index].model += more
        case 2:
          let last = UInt8(truncatingIfNeeded: step)
          more.withUnsafeBytes { buffers[index].buffer.append($0, endingWith: last) }
          buffers[index].model += more + [last]
        case 3:
          let count = Int.random(in: 0...buffers[index].model.count, using: &generator)
          buffers[index].buffer.removeFirst(count)
          buffers[index].model.removeFirst(count)
        case 4:
          let other = Int.random(in: 0..<buffers.count, using: &generator)
          buffers[index].buffer.append(buffers[other].buffer)
          buffers[index].model += buffers[other].model
        case 5:
          let end = Int.random(in: 0...buffers[index].model.count, using: &generator)
          let start = Int.random(in: 0...end, using: &generator)
          buffers.append((buffers[index].buffer.window(start..<end), Array(buffers[index].model[start..<end])))
        case 6: buffers[index].buffer.reserve(Int.random(in: 0...50, using: &generator))
        default:
          guard step % 3 == 0 else { continue }
          buffers[index].buffer.removeAll()
          buffers[index].model = []
        }
        for (buffer, model) in buffers {
          #expect(Self.bytes(buffer) == model && buffer.bytes == model && buffer.count == model.count)
          #expect(buffer == ByteBuffer(model) && buffer.hashValue == ByteBuffer(model).hashValue)
        }
      }
    }
  }

  // Catches memory that grows with all bytes that have ever been added.
  @Test("The memory of removed bytes is used again")
  func memory() {
    var buffer = ByteBuffer()
    for _ in 0..<10_000 {
      buffer.append([UInt8](repeating: 1, count: 100))
      buffer.removeFirst(100)
    }
    #expect(buffer.capacity < 4096)
  }
}
