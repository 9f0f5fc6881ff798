import Glibc

/// The ids that the kernel tells in place of those that the process's user namespace does not map (user_namespaces(7)):
/// all users whom it does not map look like this one. Nil where every id is mapped, and this one is a user like any
/// other.
public struct UnmappedIDs: Sendable, Hashable {
  /// Every id is mapped.
  public static let none = UnmappedIDs()

  /// In place of user ids.
  let uid: UInt32?
  /// In place of group ids.
  let gid: UInt32?

  private init() { (uid, gid) = (nil, nil) }

  /// As the files under `/proc` have it that `read` reads.
  init(read: (_ path: String) -> String?) {
    func stand(_ map: String, _ overflow: String) -> UInt32? {
      guard let map = read("/proc/self/\(map)"), !Self.isWhole(map) else { return nil }
      let numbers = Self.numbers(read("/proc/sys/kernel/\(overflow)") ?? "")
      return numbers.first?.first.flatMap { UInt32(exactly: $0) } ?? 65534
    }
    uid = stand("uid_map", "overflowuid")
    gid = stand("gid_map", "overflowgid")
  }

  /// Those of this process. A sandbox may hide the files: asked before. Where a kernel has no user namespaces there are
  /// none.
  public static var ofThisProcess: UnmappedIDs { UnmappedIDs(read: contents) }

  /// Whether the lines map all ids: 4294967295 is none.
  private static func isWhole(_ map: String) -> Bool {
    numbers(map).reduce(0) { $0 &+ ($1.last ?? 0) } >= UInt64(UInt32.max)
  }

  /// Those of each line; what is none counts as 0.
  private static func numbers(_ text: String) -> [[UInt64]] {
    text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
      line.split(separator: UInt8(ascii: " ")).map { UInt64(String(decoding: $0, as: UTF8.self)) ?? 0 }
    }
  }

  private static func contents(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var (text, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return count == 0 ? String(decoding: text, as: UTF8.self) : nil }
      text += chunk[..<count]
    }
  }
}
