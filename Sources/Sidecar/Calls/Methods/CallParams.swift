import PosternJSON
import PosternSupport

/// Holds the params of a call until its method takes them: afterwards nothing that waits for the method's end keeps
/// them, and a body of many megabytes is not kept twice.
package final class CallParams: Sendable {
  /// A tree takes many times the bytes of its text if its values are short, as in `[0,0,…]`: a call that waits keeps at
  /// most this many values as a tree.
  private static let valuesInTree = 128

  private enum Content {
    case tree(JSONTree)
    case value(JSONValue)

    var tree: JSONTree {
      switch self {
      case .tree(let tree): tree
      case .value(let value): JSONTree(value)
      }
    }
  }

  private let content: Locked<Content?>

  init(_ params: JSONTree?) {
    content = Locked(
      params.map { $0.hasMoreValues(than: Self.valuesInTree) ? .value($0.value) : .tree($0) })
  }

  /// The params, without taking them.
  var current: JSONTree? { content.withLock { $0 }?.tree }

  /// The params, the first time; nil afterwards.
  func take() -> JSONTree? {
    let taken = content.withLock { content in
      defer { content = nil }
      return content
    }
    return taken?.tree
  }
}
