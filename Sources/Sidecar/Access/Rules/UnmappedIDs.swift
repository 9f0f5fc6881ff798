import Glibc

/// The ids that the kernel reports instead of those that the process's user namespace does not map
/// (user_namespaces(7)): all users whom it does not map look like this one. Nil where every id is mapped, and this one
/// is a user like any other.
package struct UnmappedIDs: Sendable, Hashable {
  /// Every id is mapped.
  package static let none = UnmappedIDs()

  /// In place of user ids.
  package let uid: UInt32?
  /// In place of group ids.
  package let gid: UInt32?

  private init() { (uid, gid) = (nil, nil) }

  /// As the files under `/proc` have it that `read` reads.
  package init(read: (_ path: String) -> String?) {
    func overflowID(_ map: String, _ overflow: String) -> UInt32? {
      guard let map = read("/proc/self/\(map)"), !Self.isWhole(map) else { return nil }
      let numbers = Self.numbers(read("/proc/sys/kernel/\(overflow)") ?? "")
      return numbers.first?.first.flatMap { UInt32(exactly: $0) } ?? 65534
    }
    uid = overflowID("uid_map", "overflowuid")
    gid = overflowID("gid_map", "overflowgid")
  }

  /// The ids of this process, read before a sandbox hides the files. Where a kernel has no user namespaces there are
  /// none.
  package static var ofThisProcess: UnmappedIDs { UnmappedIDs(read: contents) }

  /// Whether the lines map all ids: 4294967295 is none.
  private static func isWhole(_ map: String) -> Bool {
    numbers(map).reduce(0) { $0 &+ ($1.last ?? 0) } >= UInt64(UInt32.max)
  }

  /// The numbers of each line; other words count as 0.
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
