import PosternCrypto
package import PosternSupport

/// A client certificate of the configuration as it was when that was loaded. The transport follows replaced files by
/// itself.
package struct ClientCertificate: Sendable {
  /// How long before its end a certificate is warned about.
  static let warningTime = Duration.seconds(30 * 86_400)

  /// The section it belongs to: `issuers.corp` or `resources.billing`.
  package let section: String
  /// Its name in `health`: the section, and for one of `fallbackCredentials` its position there.
  package let name: String
  /// The key of its file in the configuration.
  let path: String
  private let notBefore: Timestamp
  private let notAfter: Timestamp

  /// All of them; throws when one cannot be used, each with its key.
  static func all(in configuration: PosternConfiguration) throws(ConfigurationProblems) -> [ClientCertificate] {
    var found: [ClientCertificate] = []
    var problems: [ConfigurationProblem] = []
    func read(
      _ section: String, _ key: String, _ file: String?, _ privateKey: ConfiguredSecret<String>?, part: String = ""
    ) {
      guard let file, let privateKey else { return }
      do throws(Unusable) {
        found.append(
          try ClientCertificate(
            section: section, name: section + part, path: "\(section).\(key)", file: file, key: privateKey))
      } catch {
        let message = "\(file): \(error.text)"
        problems.append(ConfigurationProblem(file: "configuration", keyPath: "\(section).\(key)", message: message))
      }
    }
    for (name, issuer) in configuration.issuers.sorted(by: { $0.key < $1.key }) {
      read("issuers.\(name)", "clientCertificateFile", issuer.clientCertificateFile, issuer.clientKey)
      for (index, other) in issuer.fallbackCredentials.enumerated() {
        let part = "fallbackCredentials[\(index)]"
        read(
          "issuers.\(name)", "\(part).clientCertificateFile", other.clientCertificateFile, other.clientKey,
          part: ".\(part)")
      }
    }
    let resources = configuration.resources.filter { $0.value.tls.clientCertificateFile != nil }
    for (name, resource) in resources.sorted(by: { $0.key < $1.key }) {
      let tls = resource.tls
      read("resources.\(name)", "tls.clientCertificateFile", tls.clientCertificateFile, tls.clientKey)
    }
    guard problems.isEmpty else { throw ConfigurationProblems(problems) }
    return found
  }

  private struct Unusable: Error { let text: String }

  private init(
    section: String, name: String, path: String, file: String, key: ConfiguredSecret<String>
  ) throws(Unusable) {
    guard let text = ConfigurationFile.contents(of: file, limit: CertificateChain.maximumByteCount) else {
      throw Unusable(text: "the certificate cannot be read, or is larger than 64 KiB")
    }
    let chain: CertificateChain
    do throws(CryptoError) {
      chain = try CertificateChain(pem: text)
    } catch {
      throw Unusable(text: "the file holds no readable PEM certificate")
    }
    let isPair: Bool
    do throws(CryptoError) {
      let read = try? ClientKey(key.value)
      if let read, !read.isPEM {
        isPair = read.belongs(toCertificate: text)
      } else {
        isPair = try chain.belongs(toKey: Array(key.value.reveal().utf8))
      }
    } catch {
      throw Unusable(text: "clientKeyFile holds no usable key: \(error.message)")
    }
    guard isPair else { throw Unusable(text: "the certificate and the key of clientKeyFile do not belong together") }
    self.section = section
    self.name = name
    self.path = path
    notBefore = chain.notBefore
    notAfter = chain.notAfter
  }

  /// Whether its time has come and is not over.
  package func isValid(at now: Timestamp) -> Bool { notBefore <= now && now <= notAfter }

  /// How long it is good, for people.
  package func detail(at now: Timestamp) -> String {
    if now < notBefore { return "not valid yet" }
    if now > notAfter { return "expired" }
    let days = (notAfter - now).components.seconds / 86_400
    return days == 1 ? "expires in 1 day" : "expires in \(days) days"
  }

  /// The warning at start and reload; nil when it is valid for long.
  func warning(at now: Timestamp) -> String? {
    if isValid(at: now), notAfter - now > Self.warningTime { return nil }
    return "\(path): the client certificate \(isValid(at: now) ? "" : "is ")\(detail(at: now))"
  }
}
