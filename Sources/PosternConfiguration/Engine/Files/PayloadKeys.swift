import AuthEngine
import JOSE
import PosternCrypto
import PosternSupport

/// The keys of one resource's payload encryption, read again when their files are replaced.
///
/// A replacement that is not valid, such as a half-written file, leaves the previous keys in force.
final class PayloadKeys: Sendable {
  private struct State {
    var stamps: [FileStamp?]
    var current: PayloadEncryption
  }

  private let configuration: PayloadEncryptionConfiguration
  private let report: ConfiguredEngine.FileReport
  private let state: Locked<State>

  /// Reads the keys; throws when they cannot be used with the configured algorithms.
  init(
    _ configuration: PayloadEncryptionConfiguration, of resource: String, report: @escaping ConfiguredEngine.FileReport
  ) throws(ConfigurationProblems) {
    self.configuration = configuration
    self.report = report
    let stamps = Self.stamps(configuration)
    let decryption = configuration.decryptionKey.map { Array($0.value.reveal().utf8) }
    do throws(PayloadKeyProblem) {
      state = Locked(State(stamps: stamps, current: try Self.read(configuration, decryption: decryption)))
    } catch {
      throw ConfigurationProblems([
        ConfigurationProblem(
          file: "configuration", keyPath: "resources.\(resource).payloadEncryption.\(error.key)",
          message: "is not usable: \(error.text)")
      ])
    }
  }

  /// Encryption with what the files hold now.
  var current: PayloadEncryption {
    // Before reading: whatever is replaced meanwhile is read the next time.
    let stamps = Self.stamps(configuration)
    let known = state.withLock { $0.stamps == stamps ? $0.current : nil }
    if let known { return known }
    let replacement: PayloadEncryption?
    do throws(PayloadKeyProblem) {
      replacement = try Self.read(configuration, decryption: try Self.decryptionText(configuration))
      for path in Self.paths(configuration).values { report(path, nil) }
    } catch {
      replacement = nil
      if let path = Self.paths(configuration)[error.key] { report(path, error.text) }
    }
    return state.withLock { state in
      state.stamps = stamps
      if let replacement { state.current = replacement }
      return state.current
    }
  }

  /// The files by their keys.
  private static func paths(_ configuration: PayloadEncryptionConfiguration) -> [String: String] {
    var paths = ["recipientKeyFile": configuration.recipientKeyFile]
    if case .file(let path)? = configuration.decryptionKey?.source { paths["decryptionKeyFile"] = path }
    return paths
  }

  private static func stamps(_ configuration: PayloadEncryptionConfiguration) -> [FileStamp?] {
    let paths = paths(configuration)
    return [paths["recipientKeyFile"], paths["decryptionKeyFile"]].map { path in path.flatMap { FileStamp($0) } }
  }

  private static func decryptionText(
    _ configuration: PayloadEncryptionConfiguration
  ) throws(PayloadKeyProblem) -> [UInt8]? {
    guard let key = configuration.decryptionKey else { return nil }
    guard case .file(let path) = key.source else { return Array(key.value.reveal().utf8) }
    guard let text = ConfigurationFile.contents(of: path, limit: PayloadKeyText.maxBytes) else {
      throw PayloadKeyProblem(key: "decryptionKeyFile", text: "the file cannot be read")
    }
    return text
  }

  private static func read(
    _ configuration: PayloadEncryptionConfiguration, decryption: [UInt8]?
  ) throws(PayloadKeyProblem) -> PayloadEncryption {
    guard
      let recipient = ConfigurationFile.contents(of: configuration.recipientKeyFile, limit: PayloadKeyText.maxBytes)
    else {
      throw PayloadKeyProblem(key: "recipientKeyFile", text: "the file cannot be read, or is larger than 64 KiB")
    }
    let recipientKey: JWK
    do throws(JOSEError) {
      recipientKey = try PayloadKeyText(recipient).recipient(configuration.algorithm, configuration.encryption)
    } catch {
      throw PayloadKeyProblem(key: "recipientKeyFile", text: error.message)
    }
    var keys: [JWK] = []
    do throws(JOSEError) {
      if let decryption { keys = try PayloadKeyText(decryption).privateKeys() }
    } catch {
      throw PayloadKeyProblem(key: "decryptionKeyFile", text: error.message)
    }
    do throws(PayloadEncryption.KeyError) {
      return try PayloadEncryption(
        algorithm: configuration.algorithm, encryption: configuration.encryption, recipient: recipientKey,
        decryptionKeys: keys)
    } catch {
      switch error {
      case .recipient(let fault): throw PayloadKeyProblem(key: "recipientKeyFile", text: fault.message)
      case .decryptionKey(let fault): throw PayloadKeyProblem(key: "decryptionKeyFile", text: fault.message)
      }
    }
  }
}

/// An error in a key file, by its key in the section; quotes nothing of it.
struct PayloadKeyProblem: Error {
  let key: String
  let text: String
}
