/// Why a list of pins is none. Pins are hashes of public keys, so the one at fault may be shown.
public struct KeyPinsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The pin that is malformed, as it was given; nil: there was no pin at all.
  public let pin: String?

  /// An error because of `pin`, or because there is none.
  public init(pin: String?) { self.pin = pin }

  private static let shownScalars = 100

  /// A sentence for people.
  public var description: String {
    guard let pin else { return "there is no pin: a server without pinned keys has no KeyPins at all" }
    let shown = String(String.UnicodeScalarView(pin.unicodeScalars.prefix(Self.shownScalars)))
    return "the pin \(String(reflecting: shown)) is not sha256/ followed by the base64 of 32 bytes"
  }
}
