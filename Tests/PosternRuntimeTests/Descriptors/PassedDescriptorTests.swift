import Glibc
import PosternSupport
import PosternTestSupport
import Testing

@Suite("Passed descriptors")
struct PassedDescriptorTests {
  @Test("a descriptor outlives its last reference, or a uid's count what it counts")
  func life() async {
    let descriptors = PassedDescriptors(limit: 2)
    var pipes: [PassedPipe]? = [
      PassedPipe(passesInput: true, of: 7, to: descriptors), PassedPipe(passesInput: true, of: 7, to: descriptors),
    ]
    let own = pipes?.map(\.own) ?? []
    #expect(descriptors.count(of: 7) == 2)
    #expect(descriptors.count(of: 8) == 0)
    // One more than it may have: rejected and closed. Another uid's is not.
    var rejected: [CInt] = [0, 0]
    #expect(pipe(&rejected) == 0)
    #expect(fcntl(rejected[0], F_SETFL, O_NONBLOCK) == 0)
    var more = [rejected[1]]
    #expect(more.withUnsafeMutableBufferPointer { descriptors.take(UnsafeBufferPointer($0), of: 7) } == nil)
    _ = PassedPipe(passesInput: true, of: 8, to: descriptors)
    pipes = nil
    #expect(await eventually { descriptors.count(of: 7) == 0 && descriptors.count(of: 8) == 0 })
    // The other ends are the last ones. (The numbers of the closed ones may be those of other files by now.)
    var byte: UInt8 = 0
    #expect(read(rejected[0], &byte, 1) == 0)
    close(rejected[0])
    for end in own {
      #expect(read(end, &byte, 1) == 0)
      close(end)
    }
  }

  @Test("one uid takes all descriptors that there may be of passed ones")
  func shares() async {
    let descriptors = PassedDescriptors(limit: 256, capacity: 8)
    func pass(of uid: UInt32) -> [PassedDescriptor]? {
      var number = open("/dev/null", O_RDONLY)
      return withUnsafeMutablePointer(to: &number) {
        descriptors.take(UnsafeBufferPointer(start: $0, count: 1), of: uid)
      }
    }
    var kept: [PassedDescriptor] = []
    while let passed = pass(of: 7), kept.count < 8 { kept += passed }
    #expect(kept.count == 5 && descriptors.isFull(for: 7) && !descriptors.isFull(for: 8))
    #expect(await eventually { descriptors.count(of: 7) == 5 })
    #expect(pass(of: 8) != nil)
    withExtendedLifetime(kept) {}
  }

  @Test("what a descriptor is, or what it is open for, is mistaken")
  func kinds() throws {
    let pipe = PassedPipe(passesInput: true)
    #expect(pipe.passed.kind == .pipe && pipe.passed.isWritable && !pipe.passed.isReadable)
    var pair: [CInt] = [0, 0]
    #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &pair) == 0)
    #expect(take(pair[0]).kind == .socket)
    close(pair[1])
    #expect(take(socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)).kind == .other)
    #expect(take(socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)).kind == .other)
    #expect(take(memoryFile()).kind == .memoryFile)
    let null = take(open("/dev/null", O_RDONLY))
    #expect(null.kind == .device && null.isReadable && !null.isWritable)
    #expect(take(open("/proc/self/status", O_RDONLY)).kind == .file)
    #expect(take(open("/", O_RDONLY)).kind == .other)
    // O_PATH.
    let path = take(open("/proc/self/status", 0o10000000))
    #expect(!path.isReadable && !path.isWritable)
  }

  @Test("a connection's slot is free before what it passed is closed, or never")
  func slots() async {
    let descriptors = PassedDescriptors(limit: 2)
    let closed = Locked(0)
    var ends: [CInt] = [0, 0]
    // With nothing to be read and nothing to be closed it is closed at once.
    #expect(pipe(&ends) == 0)
    descriptors.closeConnection(ends[0], of: 7, hasUnread: false) { closed.withLock { $0 += 1 } }
    #expect(closed.withLock { $0 } == 1 && fcntl(ends[0], F_GETFD) < 0)
    descriptors.closeConnection(ends[1], of: 7, hasUnread: true) { closed.withLock { $0 += 1 } }
    #expect(await eventually { closed.withLock { $0 } == 2 && descriptors.count(of: 7) == 0 })
  }
}
