import Glibc
import PosternSupport

/// A pipe, of which one end was passed to the code under test.
struct PassedPipe {
  let passed: PassedDescriptor
  /// The end that the test keeps.
  let own: CInt

  /// `passesInput`: the end for writing is passed.
  init(passesInput: Bool, of uid: UInt32 = 1, to descriptors: PassedDescriptors = PassedDescriptors(limit: 100)) {
    var ends: [CInt] = [0, 0]
    precondition(pipe(&ends) == 0)
    own = ends[passesInput ? 0 : 1]
    passed = take(ends[passesInput ? 1 : 0], of: uid, descriptors)
  }

  /// Reads up to `count` bytes.
  func read(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, Glibc.read(own, buffer.baseAddress, count))
    }
  }
}

/// Passes `number` on.
func take(
  _ number: CInt, of uid: UInt32 = 1, _ descriptors: PassedDescriptors = PassedDescriptors(limit: 100)
) -> PassedDescriptor {
  let taken = withUnsafePointer(to: number) { descriptors.take(UnsafeBufferPointer(start: $0, count: 1), of: uid) }
  guard let first = taken?.first else { fatalError("the descriptor was rejected") }
  return first
}

/// A file in memory with `bytes`, at its beginning.
func memoryFile(_ bytes: [UInt8] = []) -> CInt {
  var name = Array("/dev/shm/postern-XXXXXX".utf8CString)
  let file = mkstemp(&name)
  unlink(name)
  precondition(file >= 0 && write(file, bytes, bytes.count) == bytes.count && lseek(file, 0, SEEK_SET) == 0)
  return file
}
