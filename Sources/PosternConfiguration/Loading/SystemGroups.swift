import Glibc

/// The machine's user groups.
public enum SystemGroups {
  /// The id of the group called `name`, or written as a number; nil when there is no such group.
  public static func identifier(of name: String) -> UInt32? {
    if name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return UInt32(name).flatMap { $0 == .max ? nil : $0 }
    }
    var group = group()
    var found: UnsafeMutablePointer<group>?
    var buffer = [CChar](repeating: 0, count: 1024)
    while getgrnam_r(name, &group, &buffer, buffer.count, &found) == ERANGE, buffer.count < 1 << 20 {
      buffer = [CChar](repeating: 0, count: buffer.count * 2)
    }
    return found == nil ? nil : group.gr_gid
  }
}
