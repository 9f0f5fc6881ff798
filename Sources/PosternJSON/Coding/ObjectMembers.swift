import CPosternJansson
import Glibc

/// The members of an object while a type is decoded from it: found by name, and each noted once it was requested.
///
/// Borrowed from the tree that is decoded.
final class ObjectMembers {
  private struct Entry {
    let mark: NameMark
    let name: UnsafeRawBufferPointer
    let value: JSONNode
    var isRequested = false
  }

  /// From this many members on they are found by their hash.
  private static let indexThreshold = 16

  private let entries: UnsafeMutableBufferPointer<Entry>
  /// The positions of the names, if there are too many for a scan.
  private let index: [MemberName: Int]?

  init(of object: JSONNode) {
    entries = .allocate(capacity: object.count)
    var filled = 0
    var position = json_object_iter(object.pointer)
    while let current = position, let name = JSONNode.name(at: current), let value = json_object_iter_value(current) {
      entries.initializeElement(at: filled, to: Entry(mark: NameMark(name), name: name, value: JSONNode(value)))
      filled &+= 1
      position = json_object_iter_next(object.pointer, current)
    }
    precondition(filled == entries.count)
    guard filled >= Self.indexThreshold else {
      index = nil
      return
    }
    // uniquingKeysWith: must not trap, even if the names are not distinct.
    index = Dictionary(
      entries.enumerated().map { (MemberName(name: String(decoding: $1.name, as: UTF8.self)), $0) },
      uniquingKeysWith: { first, _ in first })
  }

  deinit { entries.deallocate() }

  /// The names in their order.
  var names: [String] { entries.map { String(decoding: $0.name, as: UTF8.self) } }

  /// The first name that was not requested.
  var notRequested: String? {
    entries.first { !$0.isRequested }.map { String(decoding: $0.name, as: UTF8.self) }
  }

  /// Treats every member as requested.
  func requestAll() {
    for position in entries.indices { entries[position].isRequested = true }
  }

  /// Whether there is a member `name`; it does not count as requested.
  func contains(_ name: String) -> Bool { position(of: name) != nil }

  /// The value of the member `name`, which is noted as requested.
  func request(_ name: String) -> JSONNode? {
    guard let position = position(of: name) else { return nil }
    entries[position].isRequested = true
    return entries[position].value
  }

  private static func equal(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard left.count == right.count, let base = left.baseAddress, let other = right.baseAddress else { return false }
    return memcmp(base, other, left.count) == 0
  }

  private func position(of name: String) -> Int? {
    if let index { return index[MemberName(name: name)] }
    var name = name
    return name.withUTF8 { name in
      let name = UnsafeRawBufferPointer(name)
      let mark = NameMark(name)
      var position = 0
      while position < entries.count {
        if entries[position].mark == mark, mark.isWholeName || Self.equal(entries[position].name, name) {
          return position
        }
        position &+= 1
      }
      return nil
    }
  }
}
