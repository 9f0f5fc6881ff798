import PosternCrypto

extension JWK {
  /// The private key of a PEM text: PKCS#8, SEC 1 or PKCS#1, unencrypted.
  ///
  /// `alg_not_supported` for another kind of key, `invalid_key` for everything else; the text is never quoted.
  public convenience init(pem text: [UInt8], keyID: String? = nil, algorithm: String? = nil) throws(JOSEError) {
    let material: KeyMaterial
    do throws(CryptoError) {
      switch try ImportedPrivateKey(pem: text) {
      case .rsa(let key): material = .rsaPrivate(key)
      case .ec(let key): material = .ecPrivate(key)
      case .edwards(let key): material = .edwardsPrivate(key)
      case .montgomery(let key): material = .montgomeryPrivate(key)
      }
    } catch {
      throw JOSEError(invalidKey: error)
    }
    self.init(material, keyID: keyID, algorithm: algorithm)
  }

  /// The public key of a PEM text, or that of a certificate in it. Errors as for private keys.
  public convenience init(publicPEM text: [UInt8]) throws(JOSEError) {
    do throws(CryptoError) {
      self.init(KeyMaterial(try ImportedPublicKey(pem: text)))
    } catch {
      throw JOSEError(invalidKey: error)
    }
  }
}
