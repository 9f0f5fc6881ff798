public import AuthEngine
import PosternSupport

/// A type of callback that the engine does not have: a program's own, or one of device binding and WebAuthn here.
///
/// Nothing has to be registered: a node reads a callback as such a type where it is asked for one.
public protocol ReadableCallback: TypedCallback {
  /// Reads a callback; nil when it is of another type, or lacks what its type has.
  init?(reading callback: JourneyCallback)
}

extension JourneyNode {
  /// The first callback that `type` can read; nil where the step has none.
  public func first<Callback: ReadableCallback>(_ type: Callback.Type) -> Callback? {
    callbacks.lazy.compactMap { $0 as? Callback ?? Callback(reading: $0.callback) }.first
  }

  /// Changes the first callback that `type` can read. Throws what `change` throws, and where the step has none.
  public mutating func fill<Callback: ReadableCallback>(
    _ type: Callback.Type, _ change: (inout Callback) throws(JourneyError) -> Void
  ) throws(JourneyError) {
    for index in callbacks.indices {
      guard var callback = callbacks[index] as? Callback ?? Callback(reading: callbacks[index].callback) else {
        continue
      }
      try change(&callback)
      callbacks[index] = callback
      return
    }
    throw JourneyError(.invalid(path: ["callbacks"]), "the step has no \(Callback.self)")
  }

  /// Has `callbacks` as values of `types`, those of them that one of the types can read: for a loop over them.
  public mutating func read(as types: [any ReadableCallback.Type]) {
    callbacks = callbacks.map { callback in
      for type in types {
        if let own = type.init(reading: callback.callback) { return own }
      }
      return callback
    }
  }
}

extension JourneyCallback {
  /// The name of the input that ends with `suffix`; nil where there is none.
  func inputName(endingWith suffix: String) -> String? { inputNames.first { $0.endsWithBytes(of: suffix) } }

  /// Fills the input whose name ends with `suffix`, if there is one.
  mutating func fillInput(endingWith suffix: String, with text: String) {
    if let name = inputName(endingWith: suffix) { fill(name, with: .string(text)) }
  }
}
