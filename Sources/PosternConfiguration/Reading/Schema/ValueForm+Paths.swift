import PosternJSON

extension ValueForm where Value == String {
  /// A path as written; relative ones begin at `$CREDENTIALS_DIRECTORY` or at the configuration's directory (see
  /// `ConfigurationDependencies`).
  package static var path: Self { text }

  /// A path that is completed with the configuration file's directory; it need not exist yet.
  static var writablePath: Self {
    text { path, context throws(ValueProblem) in context.dependencies.inConfigurationDirectory(path) }
  }

  /// The path of a socket: at most 107 bytes (`sun_path`, unix(7)).
  package static var socketPath: Self {
    text { text, context throws(ValueProblem) in
      let path = context.dependencies.inConfigurationDirectory(text)
      guard path.utf8.count <= 107 else {
        throw ValueProblem("the path has \(path.utf8.count) bytes; a Unix socket's path has at most 107")
      }
      return path
    }
  }

  /// The path of a file without secrets, completed; the file must be there and readable.
  package static var file: Self {
    text { text, context throws(ValueProblem) in
      let path = context.dependencies.resolved(text)
      switch context.dependencies.readFile(path, ConfigurationDependencies.maxFileBytes) {
      case .failure(let failure): throw ValueProblem(FileProblem(path: path, failure: failure).message)
      case .success(let file) where file.bytes.isEmpty:
        throw ValueProblem("\(ConfigurationPath.printable(path)): the file is empty")
      case .success: return path
      }
    }
  }

  /// A group of this machine, by name or number; the text stays as it was, to be looked up when it is used.
  package static var group: Self {
    text(schema: { ["type": ["string", "integer"], "minLength": 1] }) { name, context throws(ValueProblem) in
      guard context.dependencies.groupIdentifier(name) != nil else {
        throw ValueProblem("there is no group \(ConfigurationPath.printable(name)) on this machine")
      }
      return name
    }
  }

  /// `host:port` on a loopback address.
  package static var listenAddress: Self {
    let pattern = "^([0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-fA-F:.]+\\]|localhost):[0-9]{1,5}$"
    return text(schema: { ["type": "string", "pattern": .string(pattern)] }) { text, _ throws(ValueProblem) in
      try ListenAddress.validate(text)
      return text
    }
  }

  /// The SHA-256 of a public key (SubjectPublicKeyInfo): `sha256/` and 44 characters of base64 (as in RFC 7469 section
  /// 2.4).
  package static var pin: Self {
    let pattern: JSONValue = "^sha256/[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"
    return text(schema: { ["type": "string", "pattern": pattern] }) { text, _ throws(ValueProblem) in
      try PublicKeyPin.validate(text)
      return text
    }
  }
}
