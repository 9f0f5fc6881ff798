import PosternSupport

/// A text that rests in `SecretMemory`, and is a text where it is used. In a record it is written as the text.
@propertyWrapper package struct KeptSecret: Sendable, Codable {
  private var secret: Secret<String>

  package init(wrappedValue: String) { secret = Secret(wrappedValue) }

  package init(from decoder: any Decoder) throws {
    secret = Secret(try decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(secret.reveal())
  }

  package var wrappedValue: String {
    get { secret.reveal() }
    set { secret = Secret(newValue) }
  }
}

/// The same for a text that may be missing; in a record it is left out then.
@propertyWrapper package struct OptionalKeptSecret: Sendable, Codable {
  private var secret: Secret<String>?

  package init() { secret = nil }

  package init(wrappedValue: String?) { secret = wrappedValue.map { Secret($0) } }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    secret = container.decodeNil() ? nil : Secret(try container.decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let secret { try container.encode(secret.reveal()) } else { try container.encodeNil() }
  }

  package var wrappedValue: String? {
    get { secret?.reveal() }
    set { secret = newValue.map { Secret($0) } }
  }
}

// What the compiler writes for a member with a wrapper takes these, as it takes the like of them for optional members.

extension KeyedDecodingContainer {
  package func decode(_: OptionalKeptSecret.Type, forKey key: Key) throws -> OptionalKeptSecret {
    OptionalKeptSecret(wrappedValue: try decodeIfPresent(String.self, forKey: key))
  }
}

extension KeyedEncodingContainer {
  package mutating func encode(_ value: OptionalKeptSecret, forKey key: Key) throws {
    try encodeIfPresent(value.wrappedValue, forKey: key)
  }
}
